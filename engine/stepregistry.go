package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/flowgate-go/flowgate/spec"
)

// stepCode is the function of a step in this process.
type stepCode struct {
	fn    StepFunc
	queue string
}

// stepRegistry holds the steps that this process can do. It is safe for concurrent use.
type stepRegistry struct {
	mu     sync.RWMutex
	frozen bool
	code   map[string]stepCode
}

func newStepRegistry() *stepRegistry { return &stepRegistry{code: map[string]stepCode{}} }

var (
	errStepLate    = errors.New("engine: steps are registered before Run")
	errStepTwice   = errors.New("engine: the step is registered already")
	errStepNoFunc  = errors.New("engine: a step needs a function")
	errSettingNone = errors.New("engine: a setting of a step is nil")
	errEngineNoneR = errors.New("engine: a step needs an engine")
)

// StepSetting says how this process does a step.
type StepSetting interface {
	setting(*stepCode) error
}

type stepSetting func(*stepCode) error

func (s stepSetting) setting(c *stepCode) error { return s(c) }

// InQueue puts a step into a queue: steps of one queue share what Config.StepQueues allows for it. Without InQueue the
// queue is "default".
func InQueue(name string) StepSetting {
	return stepSetting(func(c *stepCode) error {
		c.queue = name
		return spec.CheckName("queue", name)
	})
}

// defaultQueue is the queue of steps that name none.
const defaultQueue = "default"

// RegisterStep gives this process the function of a step, which comes before Run. Steps belong to the deployment: the
// process that does a step need not have the workflow that asks for it. Errors: *InvalidError for a name; a name that is
// registered already.
func (e *Engine) RegisterStep(name string, fn StepFunc, settings ...StepSetting) error {
	if err := spec.CheckName("name", name); err != nil {
		return err
	}
	if fn == nil {
		return fmt.Errorf("%w: %q", errStepNoFunc, name)
	}
	code := stepCode{fn: fn, queue: defaultQueue}
	for _, s := range settings {
		if s == nil {
			return errSettingNone
		}
		if err := s.setting(&code); err != nil {
			return err
		}
	}
	return e.steps.add(name, code)
}

// RegisterStep registers the function of a step with types of its own: see Engine.RegisterStep and TypedStep.
func RegisterStep[In, Out any](
	e *Engine, name string, fn func(ctx context.Context, step *Step, in In) (Out, error), settings ...StepSetting,
) error {
	if e == nil {
		return errEngineNoneR
	}
	return e.RegisterStep(name, TypedStep(fn), settings...)
}

func (r *stepRegistry) add(name string, code stepCode) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.frozen {
		return errStepLate
	}
	if _, known := r.code[name]; known {
		return fmt.Errorf("%w: %q", errStepTwice, name)
	}
	r.code[name] = code
	return nil
}

func (r *stepRegistry) get(name string) (stepCode, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	code, ok := r.code[name]
	return code, ok
}

// freeze ends registration and lists the names of each queue, in order.
func (r *stepRegistry) freeze() map[string][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = true
	queues := map[string][]string{}
	for name, code := range r.code {
		queues[code.queue] = append(queues[code.queue], name)
	}
	for _, names := range queues {
		slices.Sort(names)
	}
	return queues
}
