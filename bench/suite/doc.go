// Package suite measures the gateway beside its floors and its peers, and holds what was found as [Results]. What is compared
// runs in turns within one run, several rounds of it; a ratio is that of one round, and its median is what counts. Needs Linux.
package suite
