package basicauth

import (
	"crypto/md5" //nolint:gosec // required by the form $apr1$ of password files
)

const (
	maxSalt   = 8
	md5Length = 22
	md5Rounds = 1000
)

// hashMD5 returns the hash of crypt(3) with the prefix "$1$", and of htpasswd with "$apr1$". No maintained library
// offers it alone.
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

// encodeMD5 encodes a sum as crypt(3): permuted groups of three bytes as four characters, the lowest six bits first.
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
