package auth

import (
	"fmt"
	"strings"
	"testing"
)

func (c *cache) size() int { return c.young.Load().Size() + c.old.Load().Size() }

func token(i int, more string) *verified {
	return &verified{token: fmt.Sprintf("%d%s", i, more), expires: int64(i)}
}

func TestTheCacheIsBoundedAndForgetsWhatWasNotAskedFor(t *testing.T) {
	c := newCache()
	const asked = 7
	for i := range 3 * cacheTokens {
		c.store(token(i, ""))
		if i >= asked {
			if v := c.load([]byte(fmt.Sprint(asked))); v == nil || v.expires != asked {
				t.Fatalf("what is asked for all the time is forgotten after %d: %v", i, v)
			}
		}
		if i%1000 == 0 && c.size() > cacheTokens+1 {
			t.Fatalf("%d tokens", c.size())
		}
	}
	if c.load([]byte("8")) != nil {
		t.Error("what nobody asked for is still there")
	}
	if v := c.load([]byte(fmt.Sprint(3*cacheTokens - 1))); v == nil {
		t.Error("the newest is forgotten")
	}
}

func TestTheCacheIsBoundedInBytes(t *testing.T) {
	c := newCache()
	long := strings.Repeat("x", MaxToken-10)
	for i := range 3 * cacheBytes / MaxToken {
		c.store(token(i, long))
		if n := c.size(); n > cacheBytes/(MaxToken-10)+1 {
			t.Fatalf("%d tokens of %d bytes", n, MaxToken)
		}
	}
}

func TestATokenIsComparedWhole(t *testing.T) {
	c := newCache()
	c.store(token(1, "abc"))
	for _, other := range []string{"1abd", "1ab", "1abcd", "", "2abc"} {
		if c.load([]byte(other)) != nil {
			t.Errorf("%q is taken for another", other)
		}
	}
	// As of another token with the same hash.
	c.young.Load().Range(func(hash uint64, v *verified) bool {
		other := token(2, "abc")
		c.young.Load().Store(hash, other)
		return false
	})
	if v := c.load([]byte("1abc")); v != nil {
		t.Errorf("a token with the same hash is taken for another: %v", v.token)
	}
}
