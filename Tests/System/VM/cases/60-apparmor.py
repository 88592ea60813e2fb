# Copyright 2026 the timerd authors
# SPDX-License-Identifier: Apache-2.0

"""The AppArmor profile of a job is enforced by the kernel, a job with a wrong one never runs, and audit records name its user."""

LIMIT = 600  # s
PROFILE = """
profile vm-job {
  file,
  capability,
  deny /root/secret rw,
}
profile vm-idle {
}
"""
# As the package's own service, without what belongs to logins.
PAM = """
auth required pam_permit.so
account required pam_permit.so
session required pam_loginuid.so
"""
READ = "cat /proc/self/attr/current; cat /root/secret; cat /proc/self/loginuid"
JOBS = {
    "free": f'shell = "{READ}"',
    "confined": f'shell = "{READ}"\napparmor-profile = "vm-job"',
    "restricted": f'shell = "{READ}"\napparmor-profile = "vm-job"\nno-new-privileges = true\nuser = "nobody"',
    "wrong": 'command = ["stamp", "wrong"]\napparmor-profile = "vm-wrong"',
    "lenient": 'command = ["stamp", "lenient"]\napparmor-profile = "-vm-wrong"',
    "idle": 'command = ["stamp", "idle"]\napparmor-profile = "vm-idle"',
    "walker": f'shell = "{READ}"\nuser = "walker"\npam-service = "vm-case"',
}


def run(case):
    machine = case.machine()
    configuration = "".join(f'[job.{name}]\n{keys}\nevery = "100h"\n' for name, keys in JOBS.items())
    machine.start(
        files={
            "/etc/timerd/timerd.toml": configuration,
            "/root/profiles": PROFILE,
            "/root/secret": "the secret\n",
            "/etc/pam.d/vm-case": PAM,
            "/etc/systemd/journald.conf.d/audit.conf": "[Journal]\nAudit=yes\n",
        },
        words="audit=1",
    )
    machine.do("useradd", "--uid", "4711", "--no-create-home", "walker")
    machine.do("apparmor_parser", "--replace", "--skip-cache", "/root/profiles")
    run_of = lambda name: (machine.ask_http("POST", f"/v1/jobs/{name}/run", {}), machine.ended(name))[1]

    free = run_of("free")
    case.check(free["output"].split("\n") == ["unconfined", "the secret", "4294967295"], f"without a profile: {free}")
    confined = run_of("confined")
    case.check(confined["output"].startswith("vm-job (enforce)\n"), f"it has the profile, enforced: {confined}")
    case.check(
        "the secret" not in confined["output"] and "Permission denied" in confined["output"],
        f"which denies it the file: {confined}",
    )
    restricted = run_of("restricted")
    case.check(restricted["output"].startswith("vm-job (enforce)\n"), f"together with no-new-privileges: {restricted}")
    wrong = run_of("wrong")
    case.check(
        wrong["reason"] == "spawn-failed" and not machine.stamps("wrong"),
        f"a job with a wrong profile never runs: {wrong}",
    )
    case.note(wrong["outcome"])
    lenient = run_of("lenient")
    case.check(
        lenient["outcome"] == "exited(0)" and machine.stamps("lenient"), f"with a - before the name it runs: {lenient}"
    )
    idle = run_of("idle")
    case.check(
        not idle["succeeded"] and not machine.stamps("idle"),
        f"a profile that allows nothing lets it do nothing: {idle}",
    )
    case.note(idle["outcome"])
    # The modules have 10 s, which is not always enough in a machine that is emulated.
    for count in range(1, 6):
        machine.post("/v1/jobs/walker/run")
        walker = machine.ended("walker", count)
        if "ETIMEDOUT" not in walker["outcome"]:
            break
    case.check(walker["output"].endswith("4711"), f"a PAM session has the login UID of the user: {walker}")
    log = machine.do("journalctl", "-q", "--no-pager", "-b", "-o", "cat", "_TRANSPORT=audit", "+", "_TRANSPORT=kernel")
    case.check("auid=4711" in log, f"an audit record has it: {log[-500:]}")
    case.check(
        'profile="vm-idle"' in log and 'apparmor="DENIED"' in log, "an audit record says what the profile denied"
    )
    machine.do("apparmor_parser", "--remove", "/root/profiles")
    again = (machine.post("/v1/jobs/confined/run"), machine.ended("confined", 2))[1]
    case.check(again["reason"] == "spawn-failed", f"if the profile is removed, the job does not run any more: {again}")
