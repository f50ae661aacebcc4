package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/diverge-network/gateway/internal/auth"
)

// keyFileMode is of files that hold secret keys.
const keyFileMode = 0o600

type keysCmd struct {
	New    keysNewCmd    `cmd:"" help:"Make a key that signs tokens."`
	Public keysPublicCmd `cmd:"" help:"Print the public keys of a key file, which verify tokens and sign none."`
}

type keysNewCmd struct {
	Alg    string `help:"EdDSA, ES256, RS256 or HS256 (whose key is one secret for those who sign and those who verify) [${default}]." enum:"EdDSA,ES256,RS256,HS256" default:"EdDSA" placeholder:"ALG"`
	Kid    string `help:"The key's id, which tokens name it by [one at random]." placeholder:"KID"`
	File   string `help:"Write the key to this new file, which only its owner may read [standard output]." placeholder:"FILE"`
	Append bool   `help:"Add the key to --file, which exists."`
}

// Run makes a key. What is printed of one that goes to a file holds no secret.
func (k *keysNewCmd) Run(w *world) error {
	if k.Append && k.File == "" {
		return usageError{errors.New("--append: say to which --file")}
	}
	made, err := auth.MakeKey(k.Alg, k.Kid)
	if err != nil {
		return err
	}
	switch {
	case k.File == "":
		set, err := auth.NewKeySet(made)
		if err != nil {
			return err
		}
		_, err = w.stdout.Write(set.Text())
		return err
	case k.Append:
		err = k.extend(w, made)
	default:
		err = k.create(made)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.stdout, "%s: %s key %s\n", k.File, k.Alg, made.ID())
	return err
}

func (k *keysNewCmd) create(made auth.NewKey) error {
	set, err := auth.NewKeySet(made)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(k.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, keyFileMode)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s exists already: use --append to add a key to it", k.File)
	case err != nil:
		return err
	}
	return fill(file, set.Text(), keyFileMode)
}

// extend replaces the file at once, so that a gateway which reads it meanwhile has
// one or the other.
func (k *keysNewCmd) extend(w *world, made auth.NewKey) error {
	// The file itself, not a link to it.
	path, err := filepath.EvalSymlinks(k.File)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	set, err := auth.ReadKeySet(path, w.log)
	if err != nil {
		return err
	}
	if err := set.Add(made); err != nil {
		return fmt.Errorf("%s: %w", k.File, err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if err := fill(file, set.Text(), info.Mode().Perm()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// fill writes all of a new file, or removes it.
func fill(file *os.File, text []byte, mode fs.FileMode) error {
	_, err := file.Write(text)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

type keysPublicCmd struct {
	File string `help:"The key file." required:"" placeholder:"FILE"`
}

// Run prints a key set. Keys without a public half are not in it, and are named.
func (k *keysPublicCmd) Run(w *world) error {
	set, err := auth.ReadKeySet(k.File, w.log)
	if err != nil {
		return err
	}
	public, without := set.Public()
	if public.Len() == 0 {
		return fmt.Errorf("%s: HS256 keys have no public half: make one of another --alg", k.File)
	}
	if len(without) > 0 {
		fmt.Fprintf(w.stderr, "gateway: left out, for HS256 keys have no public half: %s\n", strings.Join(without, ", "))
	}
	_, err = w.stdout.Write(public.Text())
	return err
}
