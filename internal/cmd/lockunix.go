//go:build unix

package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockDir takes the data folder for this process until release is called or
// the process ends, however it ends. Two processes on one folder would answer
// from indexes that the other one has made untrue.
func lockDir(dir string) (release func() error, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) || errors.Is(err, unix.ENOSPC) { // nothing can be written there for now: the folder itself has to do
		f, err = os.Open(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the data folder: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = hintError{fmt.Errorf("the data folder %q is in use by another understudy", dir), "stop that one, or give this one a folder of its own with -data-dir"}
	case err != nil:
		err = fmt.Errorf("locking the data folder: %w", err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
