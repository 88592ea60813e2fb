// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import StoreModel
import TimerCore
import TimerFleet

extension Simulation {
    // MARK: - The network

    private func isCut(from machine: SimulatedMachine) -> Bool { machine.cutFrom > time }
    private func isCut(to machine: SimulatedMachine) -> Bool { machine.cutTo > time }
    private var isDown: Bool { storeDown > time }

    private func latency() -> Int64 {
        random.below(50) == 0
            ? random.span(50_000_000, 900_000_000) : random.span(300_000, 4_000_000)
    }

    /// Takes a request to the store, if it arrives, and calls `answer` with what brings the answer
    /// back.
    private func exchange(
        from machine: SimulatedMachine, _ body: @escaping () -> FleetEvent?
    ) {
        let epoch = machine.epoch
        guard !isCut(from: machine) else { return }
        let life = storeLife
        let body: () -> FleetEvent? = { [unowned self] in life == self.storeLife ? body() : nil }
        // A request that is in a queue somewhere arrives after its sender has given it up.
        let isLate = random.below(60) == 0
        after(isLate ? random.span(3 * Self.second, 9 * Self.second) : latency()) {
            [unowned self] in
            if self.isDown {
                guard self.random.below(4) == 0 else { return }
                // The leader has it, and the next one applies it.
                return self.plan.add(at: self.storeDown) { [unowned self] in
                    self.reply(to: machine, epoch, body)
                }
            }
            self.reply(to: machine, epoch, body)
        }
    }

    private func reply(
        to machine: SimulatedMachine, _ epoch: Int, _ body: () -> FleetEvent?
    ) {
        guard let event = body() else { return }
        after(latency()) { [unowned self] in
            guard !self.isCut(to: machine) else { return }
            self.deliver(event, to: machine, epoch)
        }
    }

    func openLease(_ machine: SimulatedMachine) {
        let sent = machine.now(time).boot
        exchange(from: machine) { [unowned self] in
            let until = self.time + Self.lease.wholeNanoseconds
            return .leased(self.store.grant(until: until), sent: sent)
        }
    }

    func keepAlive(_ lease: LeaseID, _ machine: SimulatedMachine) {
        let sent = machine.now(time)
        exchange(from: machine) { [unowned self] in
            guard let found = self.store.leases[lease] else { return .leaseLost(lease) }
            let until = self.time + Self.lease.wholeNanoseconds
            self.store.leases[lease]?.expires = max(found.expires, until)
            return .kept(lease, sent: sent.boot)
        }
        exchange(from: machine) { [unowned self] in
            let date = (Self.wallStart + self.time / 1000) / 1_000_000
            return .dated(endpoint: "etcd", date: date, sent: sent.wall)
        }
    }

    func expireLeases() {
        // Often, because who is connected is known for this instant only.
        checker.count(self)
        if !isDown {
            for (lease, found) in store.leases.sorted(by: { $0.key.number < $1.key.number })
            where found.expires < time {
                if let commit = store.revoke(lease) {
                    note("lease \(lease.number) expires")
                    checker.committed(commit, self)
                    noteCommit(commit)
                }
            }
        }
        after(Self.second / 10) { [unowned self] in self.expireLeases() }
    }

    func send(
        _ id: FleetMember.TransactionID, _ transaction: FleetTransaction,
        _ machine: SimulatedMachine
    ) {
        let epoch = machine.epoch
        var isAnswered = false
        let sent = time
        let claims = checker.claims(in: transaction)
        let operations = transaction.operations
        if operations > 128 { checker.fail("a transaction has \(operations) operations") }
        if claims > 0 {
            counts["claim transactions"] += 1
            if time < calm { faultDuringClaim(machine) }
        }
        let format = machine.format
        exchange(from: machine) { [unowned self] in
            let former = self.storeFormat
            guard let (answer, commit) = self.store.apply(transaction) else {
                // The transport knows that nothing was done; the member needs no other word for it.
                isAnswered = true
                self.counts["transactions with a lease that is gone"] += 1
                return .unknown(id)
            }
            if let commit {
                self.checkFormat(commit, by: machine, knowing: format, from: former)
                self.note("\(machine.name) writes \(commit.revision): \(commit.changes.keys)")
                self.checker.committed(commit, self, delay: self.time - sent)
                self.noteCommit(commit)
            }
            for branch in answer.branches where claims > 0 {
                if case .refused = branch { self.counts["claims refused"] += 1 }
            }
            isAnswered = true
            return .answered(id, answer)
        }
        after(5 * Self.second) { [unowned self] in
            guard machine.epoch == epoch else { return }
            if !isAnswered || self.random.below(50) == 0 { self.counts["unknown outcomes"] += 1 }
            self.deliver(.unknown(id), to: machine, epoch)
        }
    }

    /// A machine that does not know the format of the store changes nothing in it, and what belongs to a
    /// format is not written before.
    private func checkFormat(
        _ commit: SimulatedStore.Commit, by machine: SimulatedMachine, knowing format: FleetFormat,
        from former: Int64
    ) {
        if former > format.rawValue {
            checker.fail(
                "\(machine.name) does not know the format, and writes \(commit.changes.keys)")
        }
        if storeFormat > former { counts["formats raised"] += 1 }
        guard storeFormat < FleetFormat.newest.rawValue else { return }
        for (key, found) in commit.changes {
            guard let text = found?.value else { continue }
            if case .run = key, case .skipped? = (try? RunValue(text: text))?.outcome {
                checker.fail("\(machine.name) writes a skipped run too early: \(text)")
            }
            guard storeFormat < FleetFormat.second.rawValue else { continue }
            let isNewer =
                switch key {
                case .member: (try? MemberValue(text: text))?.unfitness != nil
                // A run from before an adoption may have been claimed in a store of a newer format.
                case .run(let run)
                where run.firing.scheduled.microsecondsSinceEpoch > checker.adopted:
                    (try? RunValue(text: text))?.fence ?? 0 >= 1 << 48
                case .identity, .hold, .clock, .job, .run: false
                }
            if isNewer { checker.fail("\(machine.name) writes a newer format: \(text)") }
        }
    }

    // MARK: - Watches

    func load(_ machine: SimulatedMachine) {
        let epoch = machine.epoch
        exchange(from: machine) { [unowned self] in
            let values = self.store.keys.mapValues { Versioned<String>?.some($0) }
            let (cluster, revision) = (self.store.cluster, self.store.revision)
            let log = FleetLog(entries: self.store.entries, revision: revision)
            machine.watch += 1
            let (watch, life) = (machine.watch, self.storeLife)
            self.after(self.latency()) { [unowned self] in
                guard !self.isCut(to: machine) else { return }
                self.deliver(
                    .loaded(
                        FleetSnapshot(
                            cluster: cluster, revision: revision, values: values, log: log)),
                    to: machine, epoch)
                // The watch begins where the snapshot ends, and never before it.
                self.after(1_000_000) { [unowned self] in
                    self.pump(machine, epoch, watch, life, cluster, revision + 1, 0)
                }
            }
            return nil
        }
    }

    /// Brings what is new in the store to a machine, as long as its watch is not broken.
    private func pump(
        _ machine: SimulatedMachine, _ epoch: Int, _ watch: Int, _ life: Int, _ cluster: String,
        _ next: Int64, _ stalled: Int
    ) {
        guard machine.epoch == epoch, machine.watch == watch else { return }
        guard life == storeLife else {
            counts["watches lost"] += 1
            return deliver(.watchLost, to: machine, epoch)
        }
        if isDown || isCut(to: machine) || isCut(from: machine) {
            // After some seconds the connection is given up on one side or the other.
            if stalled > 60 { return deliver(.watchLost, to: machine, epoch) }
            return after(Self.second / 10) { [unowned self] in
                self.pump(machine, epoch, watch, life, cluster, next, stalled + 1)
            }
        }
        guard store.cluster == cluster, next > store.compacted else {
            counts["watches lost"] += 1
            // Of some the machine is not told that they ended.
            if random.below(3) > 0 { deliver(.watchLost, to: machine, epoch) }
            return
        }
        var upTo = next
        for commit in store.history.drop(while: { $0.revision < next }) {
            deliver(
                .changed(cluster: cluster, revision: commit.revision, commit.changes), to: machine,
                epoch)
            upTo = commit.revision + 1
        }
        let pause = random.below(100) == 0 ? Self.second * 2 : 10_000_000
        after(random.span(2_000_000, pause)) { [unowned self] in
            self.pump(machine, epoch, watch, life, cluster, upTo, 0)
        }
    }
}
