// Package limit holds the limits that are nobody's own: the bytes that are held
// for a container and in all ([Budget]), the memory of the process ([Memory]), and
// the connections of one address ([Rate]). It knows nothing of what is refused for
// them. Its locks are leaves: nothing is called under one.
package limit
