package answer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/diverge-network/gateway/internal/wsock"
)

// deniedWait is about how long after the gateway has refused a token it is tried with the next: somebody has to do
// something first, and thousands of containers may wait for it.
const deniedWait = 10 * time.Second

const deniedText = "the gateway does not let this server in: give it a token that is good (gateway answer: --token-file); trying again"

// bearing is the header with the token of now, if there is to be one.
func (s *Server) bearing(ctx context.Context) (http.Header, error) {
	if s.Token == nil {
		return s.Header, nil
	}
	token, err := s.Token(ctx)
	if err != nil {
		return nil, fmt.Errorf("the token cannot be had: %w", err)
	}
	header := s.Header.Clone()
	if header == nil {
		header = make(http.Header, 1)
	}
	header.Set("Authorization", "Bearer "+token)
	return header, nil
}

// deniedError is the refusal of the list of containers for want of a token.
type deniedError struct{ error }

// denied reports whether the gateway has refused the token, or asks for one.
func denied(err error) bool {
	var list deniedError
	var refused *wsock.RefusedError
	return errors.As(err, &list) || errors.As(err, &refused) && deniedStatus(refused.Status)
}

func deniedStatus(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// afterwards is how long to wait after an attempt that failed, and what to say of it; usual is what it would be for a
// gateway that cannot be reached.
func (s *Server) afterwards(err error, usual time.Duration, text string) (wait time.Duration, say string) {
	if !denied(err) {
		return usual, text
	}
	jitter := s.jitter
	if jitter == nil {
		jitter = rand.Float64
	}
	return deniedWait/2 + time.Duration(jitter()*float64(deniedWait)), deniedText
}
