// Package limit holds the limits that are nobody's own: the bytes that are held
// for a container and in all ([Budget]), the memory of the process ([Memory]), and
// the connections of one address ([Rate]). It says when one of them begins to be
// hit ([Alarm]), and knows nothing of what is refused for it.
//
// Locks: each is a leaf. Nothing is called under one but the logger, under
// none.
package limit
