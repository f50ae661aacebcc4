// Command faults makes exchanges under faults, and finds every one again: answered once to its own caller, or reported to
// it as an error.
//
// gateway serve and gateway answer run as processes. toxiproxy lies between every container's clients and the gateway, and
// between every provider and the gateway. Half of the containers are answered by a gateway answer of their own, the others
// by a provider of this program that is exact to the byte.
//
//	go run ./test/faults [--exchanges 10000] [--duration 10m] [--seed N] [--only WORDS]
//
// The faults, their moments and the calls follow from the seed, which is printed. What the machine makes of them does not.
package main
