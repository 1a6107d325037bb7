package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/file"
)

// exportCertificates writes what the storages have into a file, and returns the exit code.
func (p *process) exportCertificates(path string, force bool, given arguments) int {
	opened, err := p.openStores(given)
	if err == nil {
		err = opened.mayWrite(path, force)
	}
	if err != nil {
		say(p.stderr, "sluice certificates export: %v\n", err)
		return exitBroken
	}
	ctx, stop := interruptible()
	defer stop()
	values, err := opened.read(ctx)
	if err == nil {
		maps.DeleteFunc(values, func(key storage.Key, _ []byte) bool {
			return key.Kind != storage.KindAccount && key.Kind != storage.KindCertificate
		})
		if len(values) == 0 {
			err = errors.New("the storage has no account and no certificate; nothing is written")
		}
	}
	if err == nil {
		err = file.Write(path, values)
	}
	if err != nil {
		say(p.stderr, "sluice certificates export: %v\n", err)
		return exitNone
	}
	certificates, accounts := 0, 0
	for key := range values {
		if key.Kind == storage.KindAccount {
			accounts++
		} else {
			certificates++
		}
	}
	say(p.stdout, "%s and %s exported into %s, which has private keys\n", counted(certificates, "certificate"),
		counted(accounts, "account"), path)
	return exitFine
}

// mayWrite refuses a file that exists, unless it is to be replaced, and one that is a storage itself.
func (s *stores) mayWrite(path string, force bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", path)
	}
	for option := range s.opened {
		own, err := os.Stat(strings.TrimPrefix(option, "file://"))
		if err == nil && os.SameFile(own, info) {
			return fmt.Errorf("%s is the storage itself", path)
		}
	}
	if !force {
		return fmt.Errorf("%s exists; replace it with --force", path)
	}
	return nil
}
