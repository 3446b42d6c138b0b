// A second opinion on GitHub triggers, written from the documentation alone: which
// trigger names a payload has, and what each filter sees. No part of it knows how the
// server does it.

/** Events that triggers know, and what they are called there; the rest fires nothing. */
const called = new Map([
  ["issues", "issue"],
  ...["issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment", "pull_request_review_thread", "push", "create", "delete"].map((e) => [e, e]),
  ...["check_run", "check_suite", "workflow_run", "workflow_job", "status", "release", "commit_comment", "discussion", "discussion_comment"].map((e) => [e, e]),
  ...["dependabot_alert", "code_scanning_alert", "secret_scanning_alert"].map((e) => [e, e]),
]);

/** The names by which triggers may ask for an event. */
export function names(event, body) {
  const name = called.get(event);
  if (!name) return [];
  if (["push", "create", "delete", "status"].includes(event)) return [name];
  const all = [`${name}_*`, `${name}_${body.action}`];
  if (event === "pull_request" && body.action === "closed" && body.pull_request.merged) all.push("pull_request_merged");
  if (event === "issues" && body.action === "opened") all.push("issue_created");
  if (event === "pull_request" && body.action === "ready_for_review") all.push("pull_request_ready");
  if (event === "pull_request" && body.action === "synchronize") all.push("pull_request_synchronized");
  return all;
}

/** What the filters of a trigger look at. */
export function values(event, body) {
  const thing = body.pull_request ?? body.issue ?? body.discussion;
  const written = { issue_comment: "comment", commit_comment: "comment", discussion_comment: "comment", pull_request_review_comment: "comment", pull_request_review: "review" }[event];
  const labeled = ["labeled", "unlabeled"].includes(body.action);
  const files = (body.commits ?? []).flatMap(({ added, modified, removed }) => [...added, ...modified, ...removed]);
  const check = body.check_suite ?? body.workflow_run ?? body.workflow_job;
  const branch = {
    push: () => /^refs\/heads\/(.+)$/.exec(body.ref)?.[1],
    code_scanning_alert: () => /^refs\/heads\/(.+)$/.exec(body.ref)?.[1],
    create: () => (body.ref_type === "branch" ? body.ref : undefined),
    delete: () => (body.ref_type === "branch" ? body.ref : undefined),
    check_run: () => body.check_run.check_suite.head_branch,
    status: () => body.branches.map(({ name }) => name),
  }[event]?.() ?? body.pull_request?.head.ref ?? check?.head_branch;
  const author = {
    push: () => body.pusher.name,
    create: () => body.sender.login,
    delete: () => body.sender.login,
    release: () => body.release.author.login,
    workflow_run: () => body.workflow_run.actor?.login,
  }[event]?.() ?? (written ? body[written] : thing)?.user?.login;
  const list = (value) => [value ?? []].flat();
  return {
    repos: list(body.repository?.full_name),
    labels: labeled ? list(body.label?.name) : (thing?.labels ?? []).map(({ name }) => name),
    authors: list(author),
    branches: list(branch),
    base_branches: list(body.pull_request?.base.ref),
    paths: files,
    conclusions: list((check ?? body.check_run)?.conclusion ?? (event === "status" ? body.state : undefined)),
  };
}

const caseless = ["repos", "labels", "authors", "conclusions"];

/** Patterns of the tests only: a star stands for what has no slash, two for anything. */
function like(pattern, value) {
  const source = pattern.split("**").map((part) => part.split("*").map(RegExp.escape ?? ((s) => s.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))).join("[^/]*")).join(".*");
  return new RegExp(`^${source}$`).test(value);
}

/** Whether a trigger fires. */
export function fires(trigger, event, body) {
  if (!names(event, body).includes(trigger.event)) return false;
  const seen = values(event, body);
  return Object.entries(trigger.filter ?? {}).every(([name, choice]) => {
    const { in: wanted, not_in: refused } = Array.isArray(choice) ? { in: choice } : choice;
    const low = (text) => (caseless.includes(name) ? text.toLowerCase() : text);
    const overlap = (set) => seen[name].some((value) => set.some((pattern) => like(low(pattern), low(value))));
    return (!wanted || overlap(wanted)) && !(refused && overlap(refused));
  });
}
