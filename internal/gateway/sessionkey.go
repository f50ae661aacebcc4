package gateway

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
)

const (
	minKey = 32 // bytes: what an attacker cannot guess
	maxKey = 4 << 10
)

// sessionKey is the content of the file, without the line end an editor leaves there, or a random key without a file.
func sessionKey(file string) ([]byte, error) {
	if file == "" {
		key := make([]byte, minKey)
		_, _ = rand.Read(key) // never fails: the process would end
		return key, nil
	}
	bad := func(problem string, err error) error {
		return &ConfigError{Flag: "--session-key-file", Value: file, Problem: problem, Err: err}
	}
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		return nil, bad("is no regular file", nil)
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(file)
	}
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, bad("cannot be read", err)
	}
	key := bytes.TrimRight(content, "\r\n")
	switch {
	case len(key) < minKey:
		return nil, bad(fmt.Sprintf("holds a key of %d bytes: %d is the least (openssl rand -hex 32 makes one)", len(key), minKey), nil)
	case len(key) > maxKey:
		return nil, bad(fmt.Sprintf("holds %d bytes: a key has at most %d", len(key), maxKey), nil)
	}
	return key, nil
}
