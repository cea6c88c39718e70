// Package load drives work with many clients and sorts out what they measured. It knows neither databases nor workflows.
package load
