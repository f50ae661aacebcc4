package auth

// Refusal is why a request's token is not accepted: an error to be compared with
// ==, and a word for metrics and logs. It is for the operator; what the client may
// be told is in Challenge and Told.
type Refusal string

const (
	Missing      Refusal = "missing"       // no Authorization header with a bearer token
	Malformed    Refusal = "malformed"     // several headers, or no token that could be judged
	UnknownKey   Refusal = "unknown-key"   // no key of that id, or of another algorithm
	BadSignature Refusal = "bad-signature" // the key did not sign it
	NotYetValid  Refusal = "not-yet-valid"
	Expired      Refusal = "expired"
	WrongAud     Refusal = "wrong-audience" // it is for the other listener, or for none
	WrongSubject Refusal = "wrong-subject"  // it names no container, or all of them where only one may be
)

// Refusals are all there are.
var Refusals = []Refusal{Missing, Malformed, UnknownKey, BadSignature, NotYetValid, Expired, WrongAud, WrongSubject}

// Error implements error.
func (r Refusal) Error() string { return "the bearer token is refused: " + string(r) }

// Told is what the one who sent the token may be told of the refusal.
func (r Refusal) Told() string {
	switch r {
	case Missing:
		return "there is no Authorization: Bearer in the request"
	case Malformed:
		return "the token is malformed"
	case Expired:
		return "the token has expired"
	default:
		return "the token is not valid here"
	}
}

// Challenge is the value of WWW-Authenticate in the 401 of a refusal (RFC 6750,
// section 3). Which of a token's checks has failed is not told, but for the two
// that its owner can do something about.
func (r Refusal) Challenge() string {
	switch r {
	case Missing:
		return `Bearer realm="gateway"`
	case Malformed:
		return `Bearer realm="gateway", error="invalid_token", error_description="The access token is malformed"`
	case Expired:
		return `Bearer realm="gateway", error="invalid_token", error_description="The access token expired"`
	default:
		return `Bearer realm="gateway", error="invalid_token", error_description="The access token is invalid"`
	}
}
