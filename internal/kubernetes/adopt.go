package kubernetes

import (
	"context"
	"net/http"
	"net/url"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/pause"
)

// adoptAll takes on what earlier launchers made, and returns when it is known to whom
// each Job belongs.
func (l *Launcher) adoptAll() {
	var there list[Job]
	err := persist(l.life, func(ctx context.Context) error {
		return l.cluster.call(ctx, request{verb: "list", kind: jobsKind(), query: url.Values{"labelSelector": {selector(l.config.WorkerHost)}}}, &there)
	})
	if err != nil && l.life.Err() == nil {
		l.logger.WarnContext(l.life, "what an earlier launcher left could not be read", "err", err)
	}
	for _, job := range there.Items {
		if job.Metadata.DeletionTimestamp == nil {
			l.adopt(job)
		}
		if p := l.find(job.Metadata.Labels[labelExecution]); p != nil {
			select {
			case <-p.ready:
			case <-l.life.Done():
			}
		}
	}
}

// adopt takes on a Job that an earlier launcher made. Its Secret says what it is for;
// a Job without a Secret is useless and is removed.
func (l *Launcher) adopt(found Job) {
	name := found.Metadata.Name
	var secret Secret
	err := persist(l.life, func(ctx context.Context) error {
		return l.cluster.call(ctx, request{verb: "get", kind: secretsKind(), name: name}, &secret)
	})
	if l.life.Err() != nil || l.find(found.Metadata.Labels[labelExecution]) != nil {
		return
	}
	parcel, parseErr := readParcel(secret.Data[parcelKey])
	switch {
	case err == nil && parseErr == nil && parcel.Job.ExecutionID == found.Metadata.Labels[labelExecution]:
		l.logger.InfoContext(l.life, "found a Job of an earlier launcher", "run_id", parcel.Job.RunID, "execution_id", parcel.Job.ExecutionID, "job", name)
		l.add(parcel.adopted(secret.Data[modelKeyKey]), true, parcel.Models)
		l.findJob(found)
		l.findPods(parcel.Job.ExecutionID)
	case err == nil || hasCode(err, http.StatusNotFound):
		l.logger.WarnContext(l.life, "a Job without its Secret is deleted", "job", name)
		if err := persist(l.life, func(ctx context.Context) error { return l.cluster.deleteJob(ctx, name) }); err != nil {
			l.logger.WarnContext(l.life, "delete Job", "job", name, "err", err)
		}
	default:
		l.logger.WarnContext(l.life, "a Job of an earlier launcher cannot be read", "job", name, "err", err)
	}
}

// findJob looks again at a Job that was taken on: it may have ended after it was listed and
// before anyone watched, and the watch does not show that again. What the watch has
// shown since is newer.
func (l *Launcher) findJob(listed Job) {
	now := listed
	err := persist(l.life, func(ctx context.Context) error {
		return l.cluster.call(ctx, request{verb: "get", kind: jobsKind(), name: listed.Metadata.Name}, &now)
	})
	p := l.find(listed.Metadata.Labels[labelExecution])
	if p == nil {
		return
	}
	p.saw(func(s *seen) {
		if s.hadJob {
			return
		}
		if s.hadJob = true; !hasCode(err, http.StatusNotFound) {
			s.job = &now
		}
	})
}

// findPods looks for the pods of a Job that was taken on: the watch may have shown them
// before anyone asked, and shows them again only when they change.
func (l *Launcher) findPods(executionID string) {
	var there list[Pod]
	err := persist(l.life, func(ctx context.Context) error {
		return l.cluster.call(ctx, request{verb: "list", kind: podsKind(), query: url.Values{"labelSelector": {labelExecution + "=" + executionID}}}, &there)
	})
	if err != nil && l.life.Err() == nil {
		l.logger.WarnContext(l.life, "the pod of an earlier launcher could not be read", "execution_id", executionID, "err", err)
	}
	if p := l.find(executionID); p != nil {
		p.foundPods(there.Items)
	}
}

// foundPods takes what was listed, unless the watch has shown a pod since: that is newer.
func (p *placement) foundPods(listed []Pod) {
	p.saw(func(s *seen) {
		if s.hadPod {
			return
		}
		for _, pod := range listed {
			s.hadPod, s.pod = true, &pod
			s.note(&pod)
		}
	})
}

// goneFrom says that the execution is over or another's.
func goneFrom(err error) bool {
	code := lineshaft.CodeOf(err)
	return err != nil && (code == lineshaft.CodeConflict || code == lineshaft.CodeNotFound)
}

// tell makes a call to the control plane until it is answered.
func tell(ctx context.Context, call func(context.Context) error) error {
	var again pause.Backoff
	for {
		err := call(ctx)
		if err == nil || goneFrom(err) || lineshaft.CodeOf(err) == lineshaft.CodeInvalidRequest {
			return err
		}
		if !again.Wait(ctx, asked(err)) {
			return err
		}
	}
}
