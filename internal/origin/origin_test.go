package origin

import "testing"

func TestOnlyListedPagesAndThoseOfThisMachineAreAllowed(t *testing.T) {
	p := New([]string{"https://App.example.com/"}, true)
	for origin, want := range map[string]bool{
		"https://app.example.com": true, "HTTPS://APP.EXAMPLE.COM": true, "https://app.example.com:8443": false,
		"http://app.example.com": false, "https://app.example.com.evil.example": false,
		"http://localhost": true, "http://LOCALHOST:3000": true, "https://127.0.0.1:1": true, "http://127.9.9.9": true,
		"http://[::1]:8080": true, "http://[::1]": true, "http://[::2]": false, "http://[::1]x": false, "http://[::1": false,
		"http://localhost.evil.example": false, "http://127.0.0.1.evil.example": false, "http://localhost:x": false,
		"ftp://localhost": false, "localhost": false, "null": false, "http://10.0.0.1": false, "http://evil.example": false,
	} {
		if got := p.Allow([]byte(origin)); got != want {
			t.Errorf("%s: allowed %t", origin, got)
		}
	}
	if p := New(nil, false); p.Allow([]byte("http://localhost")) {
		t.Error("a page of the visitor's machine is allowed off loopback")
	}
}

func TestSameIsTheHostThatTheRequestWasSentTo(t *testing.T) {
	for _, c := range []struct {
		origin, host string
		want         bool
	}{
		{"http://gateway:14979", "gateway:14979", true}, {"http://Gateway:14979/", "gateway:14979", true},
		{"http://evil.example", "gateway:14979", false}, {"http://gateway", "gateway:14979", false},
		{"null", "null", false}, {"http://", "", false},
	} {
		if got := Same([]byte(c.origin), []byte(c.host)); got != c.want {
			t.Errorf("%s at %s: %t", c.origin, c.host, got)
		}
	}
}
