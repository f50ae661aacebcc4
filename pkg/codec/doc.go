// Package codec turns the bytes of the wire into what the gateway decides on,
// and back: kinds and their paths, ask frames, answer frames, notifications,
// JSON-RPC messages and batches, server-sent events, and what differs between
// revisions of MCP. It knows nothing of sockets, clocks and goroutines. The
// rules it implements are those of docs/protocol.md, cited by number.
//
// # Bytes pass through
//
// A relay must not lose what a newer party says. So JSON is checked here, and
// a few of its members are looked at, but none is decoded into Go values and
// encoded again: AppendResponse and its like splice the bytes that came into
// the bytes that go, ModernResponse and LegacyResponse put those that go around
// those that came, unknown members, number spellings, escapes and all.
// AppendValue is for JSON that begins here.
//
// # Revisions
//
// The client and the far side, which is what the provider's server speaks for,
// may be of different revisions of MCP: legacy ones, up to 2025-11-25, have
// sessions; 2026-07-28, modern here, is stateless, and each of its requests
// says in its _meta what a session would have agreed on. ParseMeta reads that,
// and AppendParams takes it away or adds it. ModernResponse, AppendModernError
// and LegacyResponse make what the far side answered fit for the client. AppendSubscribed and AppendProgress do so for notifications.
//
// # What is JSON
//
// JSON is RFC 8259 in valid UTF-8, nested at most 10,000 deep, with nothing
// but space around the one value. A name may be spelled with escapes
// ("\u0069d" is id). Escaped lone surrogates ("\ud800") are passed on.
// Duplicate names are a failure in an envelope (a message, a notification)
// and among the members that are looked at; elsewhere they are passed on.
//
// Against encoding/json.Valid, CheckJSON differs in one thing: it rejects
// invalid UTF-8. Against the defaults of jsontext it differs in two: it
// accepts escaped lone surrogates and duplicate names.
//
// JSON is checked once, when it comes in: by a Decode function, CheckJSON,
// ParseMessage or ParseNotification. ModernResponse and LegacyResponse go by
// where DecodeAnswer found a result's members, and take nothing but what it
// returned.
//
// An integer is a number written without a fraction and without an exponent:
// 1.0 and 1e2 are none, neither as an id nor as an error's code.
//
// # Lifetimes
//
// What a Decode or Parse function returns is borrowed: its slices are views
// of the bytes it was given, good until those change, and cut so that
// appending to one copies it. An Append function copies what it is given, and
// returns dst grown, as the builtin does; dst and the other arguments must not
// overlap. A Buffer's bytes are good until its last holder has Released it, or
// a response was made in it.
//
// All functions may be called concurrently. Those that carry the gateway's
// traffic do not allocate, unless a name or a method in the input is spelled
// with escapes, an envelope has many members of its own invention, or the input
// fails.
package codec
