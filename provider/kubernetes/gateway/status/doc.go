// Package status writes the statuses of objects of the Gateway API.
//
// A Desired is what this controller has to say about one object. Entries and conditions of other controllers stay as
// they are, nothing that is equal is written again, and writes are bounded in their rate.
package status
