// Package auth decides who a request comes from: it verifies JSON Web Tokens
// with the keys of a file, and makes both.
//
// A token (JWS compact serialization, RFC 7515 and 7519) names in "sub" the
// container that it is for, or "*" for a server that answers all of them, and in
// "aud" the one listener that it is for. "exp" is required, "nbf" is heeded, and
// both have a Leeway for clocks that differ. All other claims are ignored.
//
// Keys are a JSON Web Key Set (RFC 7517). The algorithm belongs to the key: what
// a token says of it has to agree and decides nothing. No header of a token makes
// anything be fetched, and one that demands what is not known here (crit, zip,
// b64, nesting) has it refused.
//
// No error, log line or metric of this package holds a token, a claim or a secret.
package auth
