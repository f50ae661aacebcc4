//go:build !race

package main

// besides is what a process has of memory that is not the runtime's to bound: the program itself.
const besides = 48 << 20
