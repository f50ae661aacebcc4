package main

import (
	"fmt"
	"time"

	"github.com/diverge-network/gateway/internal/auth"
)

type tokenCmd struct {
	Keys      string        `help:"The key file that signs it, as gateway keys new makes." required:"" placeholder:"FILE"`
	Container string        `help:"The container that it is for, or * for a server that answers all of them." required:"" placeholder:"ID|*"`
	Audience  string        `help:"The listener that it is for: inside or outside." enum:"inside,outside" required:"" placeholder:"inside|outside"`
	TTL       time.Duration `name:"ttl" help:"How long it is good for, from now on [${default}]." default:"24h" placeholder:"DURATION"`
	Kid       string        `help:"The key that signs it, where several can." placeholder:"KID"`
}

// Run prints one token.
func (t *tokenCmd) Run(w *world) error {
	if t.TTL < time.Second {
		return usageError{fmt.Errorf("--ttl: %s: one second is the least", t.TTL)}
	}
	set, err := auth.ReadKeySet(t.Keys, w.log)
	if err != nil {
		return fmt.Errorf("--keys: %w (gateway keys new makes a key file)", err)
	}
	now := time.Now()
	token, err := set.Sign(t.Kid, auth.Claims{
		Subject:  t.Container,
		Audience: auth.Audience(t.Audience),
		Issued:   now,
		Expires:  now.Add(t.TTL),
	})
	if err != nil {
		return usageError{err}
	}
	_, err = fmt.Fprintln(w.stdout, token)
	return err
}
