// Package users reads the users of middlewares that ask for a password: the options users and usersFile.
//
// What flows in: lines as htpasswd and htdigest write them. What flows out: what a middleware made of each line, by the name of the
// user. It knows no hash itself, reads a file only through the function that it is given, and no error of it holds any part of a line:
// an error names the option or the file, and the line's number.
package users
