package codec

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// inStrings are what ends a stretch of plain text, sound and not.
var inStrings = []string{
	``, `"`, `\"`, `\\`, `\`, `\n`, `\x`, `\u00e9`, `\u00E`, `\u12g4`, `\ud800`, `\\\"`, `\n\t\"`,
	"\x00", "\x1f", "\x20", "\x21", "\x22", "\x23", "\x5b", "\x5c", "\x5d", "\x7e", "\x7f",
	"\x80", "\xbf", "\xc0", "\xc1\xbf", "\xc2\x80", "\xc2", "\xc3\xa9", "\xc3\xa9\xc3\xa9", "\xc3\xc3", "\xdf\xbf", "\xdf\xc0",
	"\xe0\x9f\xbf", "\xe0\xa0\x80", "\xe0\xa0", "\xe1\x80\x7f", "\xe4\xba\xba\xe4\xba\xba", "\xed\x9f\xbf", "\xed\xa0\x80", "\xee\x80\x80", "\xef\xbf\xbf",
	"\xf0\x8f\xbf\xbf", "\xf0\x90\x80\x80", "\xf0\x90\x80", "\xf3\xbf\xbf\xbf", "\xf4\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf8\x88\x80\x80\x80", "\xff",
	"é人😀", "\u2028", "\xc3\xa9x\xe4\xba\xba",
}

// TestD2_StringsAgreeWithJsontextAtEveryPlace: words are read, so what matters
// is where in one something is, and how much is behind it.
func TestD2_StringsAgreeWithJsontextAtEveryPlace(t *testing.T) {
	for _, s := range inStrings {
		for before := range 42 {
			for _, behind := range []int{0, 1, 8, 40} {
				b := []byte(`"` + strings.Repeat("a", before) + s + strings.Repeat("b", behind))
				checkAgrees(t, b)
				checkAgrees(t, append(b, '"'))
				checkAgrees(t, append(b, s+`"`...))
			}
		}
	}
}

// TestD2_EveryPrefixAndEveryByteAgreeWithJsontext takes real shapes, cuts them
// and changes each byte.
func TestD2_EveryPrefixAndEveryByteAgreeWithJsontext(t *testing.T) {
	for _, s := range []string{
		`{"id":-12.50e+3,"name":"a name","tags":["x",[],{}, 0 ],"ok":true,"no":false,"none":null}`,
		"[\n  {\n    \"a\" : [ 1,\t2 ],\r\n    \"\\u00e9\" : \"é人😀\\n\"\n  },\n        null\n]\n",
	} {
		for i := range s {
			checkAgrees(t, []byte(s[:i]))
			for _, c := range "\x00 \n\"\\,:[]{}-+.0e5atn\x80\xe4" {
				b := []byte(s)
				b[i] = byte(c)
				checkAgrees(t, b)
			}
		}
	}
}

// TestD2_DepthIsRememberedWhateverIsNested: every eighth word of the nest ends
// where another kind of container begins.
func TestD2_DepthIsRememberedWhateverIsNested(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, depth := range []int{1, 63, 64, 65, 127, 128, 129, 1000, 9_999, 10_000} {
		var begin, end []byte
		for range depth {
			if r.IntN(2) == 0 {
				begin, end = append(begin, '['), append(end, ']')
			} else {
				begin, end = append(begin, `{"a":`...), append(end, '}')
			}
		}
		for i, j := 0, len(end)-1; i < j; i, j = i+1, j-1 {
			end[i], end[j] = end[j], end[i]
		}
		sound := append(append(begin, '1'), end...)
		checkAgrees(t, sound)
		if err := CheckJSON(sound); err != nil {
			t.Errorf("%d deep: %v", depth, err)
		}
		for range 20 { // one closing bracket is of the other kind
			i := len(sound) - 1 - r.IntN(depth)
			b := bytes.Clone(sound)
			b[i] ^= ']' ^ '}'
			if err := CheckJSON(b); err == nil {
				t.Errorf("%d deep: a wrong bracket at %d is accepted", depth, i)
			}
		}
	}
}

// samples are what benchmarks check, by what is in them. Those that repeat
// flatter what reads byte by byte, since the processor learns where strings end.
func samples() []struct {
	name string
	json []byte
} {
	text := func(words ...string) []byte {
		r := rand.New(rand.NewPCG(1, 2))
		var b strings.Builder
		for b.Len() < 60_000 {
			b.WriteString(words[r.IntN(len(words))])
		}
		quoted, _ := json.Marshal(b.String())
		return []byte(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)
	}
	records := randomRecords()
	var indented bytes.Buffer
	_ = json.Indent(&indented, records, "", "  ")
	return []struct {
		name string
		json []byte
	}{
		{"one-letter-1MiB", []byte(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20) + `"}]}`)},
		{"English", text("some ", "words ", "of a ", "long, ", "text. ", "and ", "the ")},
		{"source", text("\n", "\n\t", "\"", " ", " := ", "func ", "(x)", "for ", "{", "}", "return ", "fmt.Println")},
		{"German", text("ä", "ö", "ß", "ü", " ", "und", "der ", "Haus", "gehen", "wir", ", ", "nicht", "sch", "en ", "er")},
		{"Russian", text("съ", "ешь", " ", "же", " ещё ", "этих", "мягких", "фр", ", ", "булок", "да", "выпей")},
		{"Chinese", text("人人生而自由", "，在尊严", "和权利上", "一律平等。")},
		{"records", records},
		{"records-indented", indented.Bytes()},
		{"records-in-a-string", text(string(records[:40_000]))},
		{"records-that-repeat", []byte(`[` + strings.Repeat(`{"id":12345,"name":"a name","tags":["x","y"],"price":12.5,"ok":true,"none":null},`, 1000) + `1]`)},
		{"numbers", []byte(`[` + strings.Repeat(`1.25,-3,1000000,2.5e-3,0,17,`, 2000) + `1]`)},
	}
}

func randomRecords() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string { return "abcdefghijklmnopqrstuvwxyz"[:1+r.IntN(2+r.IntN(20))] }
	var value func(depth int) any
	value = func(depth int) any {
		switch n := r.IntN(12); {
		case n < 2 && depth > 0:
			object := map[string]any{}
			for range r.IntN(8) {
				object[word()] = value(depth - 1)
			}
			return object
		case n < 3 && depth > 0:
			array := []any{}
			for range r.IntN(8) {
				array = append(array, value(depth-1))
			}
			return array
		case n < 5:
			return r.IntN(1 << r.IntN(30))
		case n < 6:
			return r.Float64()
		case n < 7:
			return r.IntN(2) == 0
		case n < 8:
			return nil
		}
		return word() + " " + word()
	}
	all := make([]map[string]any, 300)
	for i := range all {
		all[i] = map[string]any{}
		for range 6 {
			all[i][word()] = value(4)
		}
	}
	b, _ := json.Marshal(all)
	return b
}

// BenchmarkCheck takes turns with the same check by jsontext.
func BenchmarkCheck(b *testing.B) {
	var in bytes.Buffer
	var dec jsontext.Decoder
	for _, s := range samples() {
		b.Run(s.name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(s.json)))
			for b.Loop() {
				if err := CheckJSON(s.json); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.name+"/jsontext", func(b *testing.B) {
			b.SetBytes(int64(len(s.json)))
			for b.Loop() {
				in = *bytes.NewBuffer(s.json)
				dec.Reset(&in, jsontextOptions...)
				if _, err := dec.ReadValue(); err != nil || !utf8.Valid(s.json) {
					b.Fatal(err)
				}
			}
		})
	}
}
