package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/file"
	"github.com/sluiceproxy/sluice/telemetry"
)

// importCertificates puts what a file has into the storages, and returns the exit code.
func (p *process) importCertificates(path string, mapped []string, dry bool, given arguments) int {
	broken := func(err error) int {
		say(p.stderr, "sluice certificates import: %v\n", err)
		return exitBroken
	}
	opened, err := p.openStores(given)
	if err != nil {
		return broken(err)
	}
	ctx, stop := interruptible()
	defer stop()
	values, err := readAccountFile(ctx, path)
	if err != nil {
		return broken(err)
	}
	into, err := opened.targets(path, values, mapped)
	if err != nil {
		return broken(err)
	}
	code := exitFine
	for _, name := range slices.Sorted(maps.Keys(into)) {
		target := into[name]
		if target == "" {
			say(p.stderr, "sluice certificates import: %s: there is no resolver %q that uses ACME: name one with "+
				"--resolver %s=RESOLVER; one of %s\n", path, name, name, strings.Join(opened.names(), ", "))
			code = exitNone
			continue
		}
		one := &importer{store: opened.of(target), resolver: target, dry: dry}
		for _, key := range slices.SortedFunc(maps.Keys(values), compareStorageKeys) {
			if key.Resolver != name {
				continue
			}
			if err := one.take(ctx, key, values[key]); err != nil {
				say(p.stderr, "sluice certificates import: %s: %s: %v\n", path, name, opened.said.explain(err))
				code = exitNone
			}
		}
		say(p.stdout, "%s: %s\n", target, one.summary(opened.shown(target)))
	}
	return code
}

func compareStorageKeys(a, b storage.Key) int {
	return strings.Compare(a.Resolver+"\x00"+string(a.Kind)+"\x00"+a.ID, b.Resolver+"\x00"+string(b.Kind)+"\x00"+b.ID)
}

// readAccountFile returns the accounts and certificates of a file in the format of acme.json.
func readAccountFile(ctx context.Context, path string) (map[storage.Key][]byte, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	values, err := snapshot(ctx, file.Open(path, telemetry.Discard{}))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(values, func(key storage.Key, _ []byte) bool {
		return key.Kind != storage.KindAccount && key.Kind != storage.KindCertificate
	})
	if len(values) == 0 {
		return nil, fmt.Errorf("%s: there is no account and no certificate in it", path)
	}
	return values, nil
}

// targets returns the resolver of the configuration for each name in a file, or "" where there is none. mapped are
// pairs NAME=RESOLVER.
func (s *stores) targets(path string, values map[storage.Key][]byte, mapped []string) (map[string]string, error) {
	into := map[string]string{}
	for key := range values {
		into[key.Resolver] = ""
		if s.resolvers[key.Resolver] != nil {
			into[key.Resolver] = key.Resolver
		}
	}
	for _, pair := range mapped {
		name, resolver, found := strings.Cut(pair, "=")
		_, known := into[name]
		switch {
		case !found || name == "" || resolver == "":
			return nil, fmt.Errorf("--resolver %s is not of the form NAME=RESOLVER", pair)
		case !known:
			return nil, fmt.Errorf("--resolver %s: %s has nothing of a resolver %q; it has %s", pair, path, name,
				strings.Join(slices.Sorted(maps.Keys(into)), ", "))
		case s.resolvers[resolver] == nil:
			return nil, fmt.Errorf("--resolver %s: there is no resolver %q that uses ACME; one of %s", pair, resolver,
				strings.Join(s.names(), ", "))
		}
		into[name] = resolver
	}
	return into, nil
}

// importer imports into the storage of a resolver, and counts what it does.
type importer struct {
	store                             storage.Store
	resolver                          string
	dry                               bool
	imported, same, newer, registered int
	accounts                          int
}

// take imports a value unless the storage has a better one.
func (i *importer) take(ctx context.Context, key storage.Key, value []byte) error {
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	key.Resolver = i.resolver
	subject, ends, err := describeValue(key, value)
	if err != nil {
		return err
	}
	present, err := i.store.Get(ctx, key)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", subject, err)
	}
	if present != nil && i.keeps(key, present, value, ends) {
		return nil
	}
	if !i.dry {
		if err := i.store.Put(ctx, key, value); err != nil {
			return fmt.Errorf("%s: %w", subject, err)
		}
	}
	if key.Kind == storage.KindAccount {
		i.accounts++
	} else {
		i.imported++
	}
	return nil
}

// keeps reports whether the value that the storage has stays, and counts it. One that cannot be read does not.
func (i *importer) keeps(key storage.Key, present, value []byte, ends time.Time) bool {
	if bytes.Equal(present, value) {
		i.same++
		return true
	}
	if key.Kind == storage.KindAccount {
		var account storage.Account
		if json.Unmarshal(present, &account) != nil || account.URI == "" {
			return false
		}
		i.registered++
		return true
	}
	_, presentEnds, err := describeValue(key, present)
	if err != nil || presentEnds.Before(ends) {
		return false
	}
	i.newer++
	return true
}

// describeValue returns what a value is about and, of a certificate, its end. The error says why it cannot be used.
func describeValue(key storage.Key, value []byte) (subject string, ends time.Time, err error) {
	if key.Kind == storage.KindAccount {
		var account storage.Account
		if err := json.Unmarshal(value, &account); err != nil || account.Key == "" {
			return "", ends, errors.New("the account has no key")
		}
		return "the account", ends, nil
	}
	var record storage.Certificate
	if err := json.Unmarshal(value, &record); err != nil {
		return "", ends, err
	}
	subject = "the certificate for " + record.Main
	pair, err := tls.X509KeyPair([]byte(record.Chain), []byte(record.Key))
	if err != nil {
		return "", ends, fmt.Errorf("%s cannot be used: %w", subject, err)
	}
	return subject, pair.Leaf.NotAfter, nil
}

// summary says what was imported, and what was left out.
func (i *importer) summary(where string) string {
	verb := "imported"
	if i.dry {
		verb = "to be imported"
	}
	text := fmt.Sprintf("%s and %s %s into %s", counted(i.imported, "certificate"), counted(i.accounts, "account"), verb,
		where)
	if i.newer > 0 {
		text += fmt.Sprintf("; %s left out, since the storage has one that does not end earlier",
			counted(i.newer, "certificate"))
	}
	if i.registered > 0 {
		text += "; the account left out, since the storage has a registered one"
	}
	if i.same > 0 {
		text += fmt.Sprintf("; %d already there", i.same)
	}
	return text
}
