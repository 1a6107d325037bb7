package basicauth

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

const (
	sha256Prefix = "$5$"
	sha512Prefix = "$6$"
	// maxCryptSalt is the longest salt of crypt, in bytes, and maxCryptPassword the longest password that is compared, as
	// in the C library musl.
	maxCryptSalt     = 16
	maxCryptPassword = 256
	// The rounds of crypt: those of a hash that has none of its own, the fewest, and the most that are accepted, which
	// take about a second.
	usualRounds  = 5000
	fewestRounds = 1000
	maxRounds    = 1_000_000
)

// parseCrypt parses a hash of crypt by SHA-256 or SHA-512: prefix[rounds=N$]salt$sum.
func parseCrypt(text, prefix string) (stored, error) {
	of := kind{scheme: sha256Crypt, rounds: usualRounds}
	length := 43
	if prefix == sha512Prefix {
		of.scheme, length = sha512Crypt, 86
	}
	rest := text[len(prefix):]
	if given, found := strings.CutPrefix(rest, "rounds="); found {
		number, after, _ := strings.Cut(given, "$")
		rounds, err := strconv.ParseUint(number, 10, 32)
		if err != nil || rounds < fewestRounds || rounds > maxRounds || number[0] == '0' {
			return stored{}, fmt.Errorf("the rounds of the hash of the password are not between %d and %d", fewestRounds,
				maxRounds)
		}
		of.rounds, rest = int(rounds), after
	}
	salt, sum, found := strings.Cut(rest, "$")
	if !found || len(salt) > maxCryptSalt || len(sum) != length || !only(sum, alphabet) {
		return stored{}, errors.New("the hash of the password ($5$, $6$) is not a salt of up to 16 characters, a dollar " +
			"sign and 43 or 86 characters")
	}
	of.cost = len(salt)
	return stored{kind: of, text: []byte(text), prefix: prefix, salt: salt}, nil
}

// hashCrypt returns the sum of crypt by SHA-256 or SHA-512 ("Unix crypt using SHA-256 and SHA-512", U. Drepper), in the
// encoding of crypt.
func hashCrypt(scheme scheme, password []byte, salt string, rounds int) []byte {
	digest := sha256.New()
	if scheme == sha512Crypt {
		digest = sha512.New()
	}
	seasoning := []byte(salt)
	sum := firstSum(digest, password, seasoning)

	digest.Reset()
	for range password {
		_, _ = digest.Write(password)
	}
	passwords := stretch(digest.Sum(nil), len(password))
	digest.Reset()
	for range 16 + int(sum[0]) {
		_, _ = digest.Write(seasoning)
	}
	salts := stretch(digest.Sum(nil), len(salt))

	for round := range rounds {
		digest.Reset()
		first, last := sum, passwords
		if round&1 != 0 {
			first, last = passwords, sum
		}
		_, _ = digest.Write(first)
		if round%3 != 0 {
			_, _ = digest.Write(salts)
		}
		if round%7 != 0 {
			_, _ = digest.Write(passwords)
		}
		_, _ = digest.Write(last)
		sum = digest.Sum(sum[:0])
	}
	return encodeCrypt(sum)
}

// firstSum is what the rounds begin with.
func firstSum(digest hash.Hash, password, salt []byte) []byte {
	write := func(parts ...[]byte) {
		for _, part := range parts {
			_, _ = digest.Write(part)
		}
	}
	write(password, salt, password)
	mixed := digest.Sum(nil)
	digest.Reset()
	write(password, salt, stretch(mixed, len(password)))
	for bits := len(password); bits > 0; bits >>= 1 {
		if bits&1 != 0 {
			write(mixed)
		} else {
			write(password)
		}
	}
	return digest.Sum(nil)
}

// stretch repeats a sum up to a length.
func stretch(sum []byte, length int) []byte {
	return bytes.Repeat(sum, length/len(sum)+1)[:length]
}

// encodeCrypt encodes a sum as crypt: permuted groups of three bytes as four characters, the lowest six bits first.
// Each group takes a byte of every third of the sum, which take turns in being the first.
func encodeCrypt(sum []byte) []byte {
	text := make([]byte, 0, 88)
	put := func(group uint32, characters int) {
		for range characters {
			text = append(text, alphabet[group&0x3f])
			group >>= 6
		}
	}
	third, rotation := len(sum)/3, 1
	if len(sum) == sha256.Size {
		rotation = 2
	}
	for i := range third {
		at := [3]int{i, i + third, i + 2*third}
		turn := i * rotation % 3
		put(uint32(sum[at[turn]])<<16|uint32(sum[at[(turn+1)%3]])<<8|uint32(sum[at[(turn+2)%3]]), 4)
	}
	if len(sum) == sha256.Size {
		put(uint32(sum[31])<<8|uint32(sum[30]), 3)
	} else {
		put(uint32(sum[63]), 2)
	}
	return text
}
