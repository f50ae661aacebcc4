// Package attack is the gateway as those meet it who mean it harm: a whole one, on
// real sockets, with nothing of it faked. Each test sends what must be refused, or
// be harmless, and looks at what is left of it afterwards: no panic, no goroutine,
// no descriptor, no exchange of anybody else's. How many bad inputs were tried is
// printed at the end.
package attack
