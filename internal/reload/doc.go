// Package reload reads files, and reads them again when their contents change:
// a new file under the old name, an atomic rename, a symbolic link that points
// elsewhere (as Kubernetes replaces secrets), or a write in place.
//
// It looks at contents, every Interval: no date, inode or event has to be right,
// and files as small as keys and certificates cost nothing to read.
package reload
