//go:build race

package main

// besides is beyond any bound: the race detector keeps several times the memory that it watches.
const besides = 1 << 30
