package main

// group is the suite's cases whose numbers have the same beginning.
type group struct {
	number string
	about  string
	cases  int // how many there are
}

// groups are all of the suite's, but for what is notNegotiated.
var groups = []group{
	{"1", "framing", 16},
	{"2", "pings and pongs", 11},
	{"3", "reserved bits", 7},
	{"4", "opcodes", 10},
	{"5", "fragmentation", 20},
	{"6", "UTF-8", 145},
	{"7", "closing", 37},
	{"9", "limits and performance", 54},
	{"10", "automatic fragmentation", 1},
}

// notNegotiated is compression, which no WebSocket of the gateway has (protocol W1).
var notNegotiated = []string{"12.*", "13.*"}
