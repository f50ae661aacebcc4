// Package bench measures the whole gateway over loopback: exchanges per second, and what an idle socket and an idle container
// cost once traffic has passed through them. README.md says how to run it.
package bench
