package kubetest

import (
	"strings"
	"time"
)

// control is what the controllers of a cluster do about a change. The lock is held.
func (c *Cluster) control(kind string, o Object) {
	switch {
	case kind == "jobs" && c.objects["jobs/"+o.Text("metadata.name")] != nil && o.Text("metadata.deletionTimestamp") == "":
		c.makePod(o)
	case kind == "pods":
		c.judgeJob(o)
	}
}

// makePod gives a new Job its pod.
func (c *Cluster) makePod(job Object) {
	if job.At("status") != nil && job.At("status.active") != nil {
		return
	}
	c.version++
	pod := Object{
		"apiVersion": "v1", "kind": "Pod", "spec": job.At("spec.template.spec"),
		"metadata": map[string]any{
			"name": job.Text("metadata.name") + "-x7k2p", "uid": job.Text("metadata.uid") + "-pod", "labels": job.At("spec.template.metadata.labels"),
			"ownerReferences": []any{map[string]any{"apiVersion": "batch/v1", "kind": "Job", "name": job.Text("metadata.name"), "uid": job.Text("metadata.uid")}},
		},
		"status": map[string]any{"phase": "Pending"},
	}
	active := job.clone()
	active.set("status.active", 1)
	c.put("jobs", active, "MODIFIED")
	c.put("pods", pod.clone(), "ADDED")
}

// judgeJob records in a Job how its pod ended.
func (c *Cluster) judgeJob(pod Object) {
	for key, job := range c.objects {
		if !strings.HasPrefix(key, "jobs/") || !pod.ownedBy(job.Text("metadata.uid")) {
			continue
		}
		there := c.objects["pods/"+pod.Text("metadata.name")] != nil
		if job.Text("metadata.deletionTimestamp") != "" {
			if !there {
				c.put("jobs", job, "DELETED")
			}
			return
		}
		if job.At("status.conditions") != nil || there && !pod.ended() {
			return
		}
		done := job.clone()
		condition := map[string]any{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}
		if pod.Text("status.phase") == "Succeeded" {
			condition = map[string]any{"type": "Complete", "status": "True"}
		}
		done.set("status.conditions", []any{condition})
		c.put("jobs", done, "MODIFIED")
		return
	}
}

// remove deletes an object as the API does: a pod on a node gets its grace, a Job goes
// after its pods and with everything that it owns. The lock is held.
func (c *Cluster) remove(kind string, o Object, now bool) {
	if kind == "pods" && !now && o.Text("spec.nodeName") != "" && !o.ended() {
		o = o.clone()
		o.set("metadata.deletionTimestamp", time.Now().UTC().Format(time.RFC3339))
		c.put(kind, o, "MODIFIED")
		return
	}
	if kind != "jobs" {
		c.put(kind, o, "DELETED")
		return
	}
	o = o.clone()
	o.set("metadata.deletionTimestamp", time.Now().UTC().Format(time.RFC3339))
	c.put(kind, o, "MODIFIED")
	for key, owned := range c.objects {
		if owned.ownedBy(o.Text("metadata.uid")) {
			kind, _, _ := strings.Cut(key, "/")
			c.remove(kind, owned, false)
		}
	}
	for key, owned := range c.objects {
		if strings.HasPrefix(key, "pods/") && owned.ownedBy(o.Text("metadata.uid")) {
			return
		}
	}
	if c.objects["jobs/"+o.Text("metadata.name")] != nil {
		c.put("jobs", o, "DELETED")
	}
}
