// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0
"use strict";

async function get(path) {
  const answer = await fetch(path, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer.json();
}

async function show() {
  const state = document.getElementById("state");
  try {
    const [session, daemon] = [await get("/v1/session"), await get("/v1/jobs")];
    const body = document.querySelector("#jobs tbody");
    body.replaceChildren(...daemon.jobs.map((job) => {
      const row = document.createElement("tr");
      const last = job.last;
      for (const text of [job.job, job.state, job.next || "", last ? last.outcome : ""]) {
        row.append(Object.assign(document.createElement("td"), { textContent: text }));
      }
      return row;
    }));
    document.getElementById("jobs").hidden = false;
    state.textContent = `${daemon.jobs.length} jobs; logged in as ${session.user}`;
  } catch (error) {
    state.textContent = error.message;
  }
  setTimeout(show, 5000);
}

show();
