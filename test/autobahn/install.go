package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const installWithin = 10 * time.Minute

// install makes .venv, in which the suite runs, of exactly what the two requirements files pin, where that was not done yet.
func install(ctx context.Context, folder string) error {
	ctx, cancel := context.WithTimeout(ctx, installWithin)
	defer cancel()
	suitePins, maker := filepath.Join(folder, "requirements.txt"), filepath.Join(folder, "virtualenv.txt")
	pinned, err := readAll(suitePins, maker)
	if err != nil {
		return err
	}
	venv := filepath.Join(folder, ".venv")
	stamp := filepath.Join(venv, "installed")
	if done, err := os.ReadFile(stamp); err == nil && bytes.Equal(done, pinned) {
		return nil
	}
	python, err := python27(ctx)
	if err != nil {
		return err
	}
	tool := filepath.Join(folder, ".virtualenv")
	if err := errors.Join(os.RemoveAll(venv), os.RemoveAll(tool)); err != nil {
		return err
	}
	for _, args := range [][]string{
		// Python 2.7 makes no virtual environments itself; this virtualenv, of Python 3, brings it the last pip that it can run.
		{"python3", "-m", "venv", tool},
		{filepath.Join(tool, "bin", "pip"), "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r", maker},
		{filepath.Join(tool, "bin", "virtualenv"), "--quiet", "--no-download", "--no-periodic-update", "--python", python, venv},
		{filepath.Join(venv, "bin", "pip"), "install", "--quiet", "--require-hashes", "--no-deps", "-r", suitePins},
	} {
		if err := run(ctx, args...); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(stamp, pinned, 0o644), os.RemoveAll(tool))
}

func readAll(files ...string) (all []byte, err error) {
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		all = append(all, b...)
	}
	return all, nil
}

func run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "PIP_DISABLE_PIP_VERSION_CHECK=1")
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// python27 finds a Python 2.7: what PYTHON27 names, or is on the path, or pyenv has.
func python27(ctx context.Context) (string, error) {
	candidates := []string{os.Getenv("PYTHON27")}
	if candidates[0] == "" {
		candidates = append([]string{"python2.7", "python2"}, fromPyenv(ctx)...)
	}
	for _, c := range candidates {
		out, err := exec.CommandContext(ctx, c, "-c", "import sys; sys.stdout.write('%d.%d %s' % (sys.version_info[:2] + (sys.executable,)))").Output()
		if version, executable, _ := strings.Cut(string(out), " "); err == nil && version == "2.7" {
			return executable, nil
		}
	}
	return "", errors.New("there is no Python 2.7, and the suite runs on nothing newer: install one (pyenv install 2.7.18) or name it in PYTHON27")
}

// fromPyenv is the interpreters of pyenv's versions 2.7, which is not on the path where another version is chosen.
func fromPyenv(ctx context.Context) (found []string) {
	versions, err := exec.CommandContext(ctx, "pyenv", "versions", "--bare").Output()
	if err != nil {
		return nil
	}
	for version := range strings.Lines(string(versions)) {
		version = strings.TrimSpace(version)
		if !strings.HasPrefix(version, "2.7.") {
			continue
		}
		if prefix, err := exec.CommandContext(ctx, "pyenv", "prefix", version).Output(); err == nil {
			found = append(found, filepath.Join(strings.TrimSpace(string(prefix)), "bin", "python"))
		}
	}
	return found
}
