package main

// lenient is the cases that are NON-STRICT, and why. One that becomes strict has to be taken out.
var lenient = map[string]string{
	"6.4.1": failsLate,
	"6.4.2": failsLate,
	"6.4.3": failsLate,
	"6.4.4": failsLate,
}

// failsLate is true of whatever text is not UTF-8 already before it is complete. RFC 6455 wants it refused (8.1), not when.
const failsLate = "text means nothing in the protocol (W3) and has no checks in internal/wsock: the echo refuses it, when it has it whole"
