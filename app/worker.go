package app

import "context"

// workerCommand moves runs on and does steps.
type workerCommand struct{ deployed }

// Run implements the command.
func (c workerCommand) Run(ctx context.Context, in invocation) error {
	if err := checkAddress(settingAdminListen, c.AdminListen); err != nil {
		return err
	}
	from, err := c.parts(in)
	if err != nil {
		return err
	}
	if len(from.registrations) == 0 {
		return noWorkflows(len(in.registrations) > 0)
	}
	return serve(ctx, from)
}

func noWorkflows(hasExamples bool) error {
	if hasExamples {
		return &UsageError{text: errNoWorkflows.Error() + "; --examples adds the example workflows"}
	}
	return errNoWorkflows
}
