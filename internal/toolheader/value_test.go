package toolheader

import (
	"encoding/base64"
	"testing"
)

func encoded(text string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// TestValuesInTheFormsOfTheRevision has its examples, and what is near them.
func TestValuesInTheFormsOfTheRevision(t *testing.T) {
	for text, want := range map[string]string{
		"us-west1": "us-west1", "a b": "a b", "~!": "~!",
		"Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=", " padded ": "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2": "=?base64?bGluZTEKbGluZTI=?=", "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"=?base64?x": "=?base64?x", "x?=": "x?=", "": encoded(""), "a\tb": encoded("a\tb"), "\x7f": encoded("\x7f"),
		"a\r\nX-Evil: 1": encoded("a\r\nX-Evil: 1"),
	} {
		got := Encode(text)
		if got != want {
			t.Errorf("%q is encoded as %s, want %s", text, got, want)
		}
		if back, ok := Decode([]byte(" \t" + got + "\t ")); !ok || string(back) != text {
			t.Errorf("%q came back as %q, %v", text, back, ok)
		}
	}
}

func TestBadBase64IsRefused(t *testing.T) {
	for _, value := range []string{
		"=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?dB==?=", "=?base64?w7_Dvg==?=", "=?base64?/w==?=",
		"=?base64?dA= =?=", "=?base64?dA==\n?=",
	} {
		if text, ok := Decode([]byte(value)); ok {
			t.Errorf("%q is decoded as %q", value, text)
		}
	}
	for _, value := range []string{"=?base64?dA==", "dA==?=", "=?BASE64?dA==?=", "x=?base64?dA==?=", "é"} {
		if text, ok := Decode([]byte(value)); !ok || string(text) != value {
			t.Errorf("%q is not taken as it is: %q", value, text)
		}
	}
}

func FuzzValuesComeBack(f *testing.F) {
	for _, seed := range []string{"", "a", " a", "é", "=?base64??=", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value := Encode(text)
		if !visible([]byte(value)) {
			t.Fatalf("%q is encoded as %q", text, value)
		}
		back, ok := Decode([]byte(value))
		if valid := string([]rune(text)) == text; ok != valid || ok && string(back) != text {
			t.Fatalf("%q came back as %q, %v", text, back, ok)
		}
	})
}
