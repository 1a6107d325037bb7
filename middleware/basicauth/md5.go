package basicauth

import (
	"crypto/md5" //nolint:gosec // The form $apr1$ of password files is made of it.
)

const (
	maxSalt   = 8
	md5Length = 22
	md5Rounds = 1000
)

// hashMD5 returns the hash that crypt(3) makes of a password under the prefix "$1$", and htpasswd under "$apr1$":
// MD5, a thousand times. No library that is kept up offers it alone, and it will never change.
func hashMD5(password []byte, prefix, salt string) [md5Length]byte {
	digest := md5.New()
	write := func(parts ...[]byte) {
		for _, part := range parts {
			_, _ = digest.Write(part)
		}
	}
	seasoning := []byte(salt)
	var sum, mixed [md5.Size]byte
	write(password, seasoning, password)
	digest.Sum(mixed[:0])

	digest.Reset()
	write(password, []byte(prefix), seasoning)
	for rest := len(password); rest > 0; rest -= md5.Size {
		write(mixed[:min(rest, md5.Size)])
	}
	for bits := len(password); bits > 0; bits >>= 1 {
		if bits&1 != 0 {
			write([]byte{0})
		} else {
			write(password[:1])
		}
	}
	digest.Sum(sum[:0])

	for round := range md5Rounds {
		digest.Reset()
		first, last := sum[:], password
		if round&1 != 0 {
			first, last = password, sum[:]
		}
		write(first)
		if round%3 != 0 {
			write(seasoning)
		}
		if round%7 != 0 {
			write(password)
		}
		write(last)
		digest.Sum(sum[:0])
	}
	return encodeMD5(sum)
}

// encodeMD5 writes a sum as crypt(3) does: groups of three bytes, which it takes from all over the sum, as four
// characters, the lowest six bits first.
func encodeMD5(sum [md5.Size]byte) (text [md5Length]byte) {
	at := 0
	put := func(group uint32, characters int) {
		for range characters {
			text[at] = alphabet[group&0x3f]
			group >>= 6
			at++
		}
	}
	for i := range 5 {
		third := i + 12
		if i == 4 {
			third = 5
		}
		put(uint32(sum[i])<<16|uint32(sum[i+6])<<8|uint32(sum[third]), 4)
	}
	put(uint32(sum[11]), 2)
	return text
}
