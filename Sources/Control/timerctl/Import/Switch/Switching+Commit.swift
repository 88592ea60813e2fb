// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import Glibc
import HostFiles
import TimerCore
import TimerImport

/// The changes of the sources themselves. Each decides for both sides, and waits for a quiet moment.
extension Switching {
    /// Changes these sources, the first one first that has a quiet moment.
    mutating func commit(_ indexes: [Int]) {
        let end = Terminal.now + QuietMoment.waitMax
        var waiting = indexes.map { (index: $0, at: Terminal.now) }
        var isWaitSaid = false
        while let place = waiting.indices.min(by: { waiting[$0].at < waiting[$1].at }) {
            let one = waiting[place]
            let wait = one.at - Terminal.now
            if wait > .seconds(2), !isWaitSaid {
                let names = waiting.map { items[$0.index].source.description }
                Terminal.complain(
                    "timerctl: waiting until no run is due: \(names.joined(separator: ", "))")
                isWaitSaid = true
            }
            if wait > .zero { usleep(useconds_t(min(wait.wholeMicroseconds, 900_000))) }
            guard one.at <= Terminal.now else { continue }
            var next: SwitchTiming.Moment?
            attempt(one.index) { (switching) throws(SwitchFault) in
                next = try switching.changed(one.index, end)
            }
            // Without another moment it is changed, or has failed and goes the other way.
            if let next { waiting[place].at = next.at } else { waiting.remove(at: place) }
        }
    }

    /// Changes a source if it can be changed now.
    /// - Returns: nil if it is changed; else when to look again.
    private mutating func changed(
        _ index: Int, _ end: WallInstant
    ) throws(SwitchFault) -> SwitchTiming.Moment? {
        let state = try state(of: index)
        guard let step = state.next(items[index].direction), step.isCommit else { return nil }
        if let found = file(of: index) {
            if step == .switchOff, try isCompletelyOn(index) { try tryGuards(index, found.file) }
            if step == .switchOn, !items[index].isPrepared {
                try timer(index)?.prepareOn()
                items[index].isPrepared = true
            }
            let now = Terminal.now
            let moment = try timing.moment(for: found.file, isSourceOn: state.isSourceOn, from: now)
            // What was found out is too old if that took long.
            guard moment.at <= now, Terminal.now - now < .seconds(1) else {
                guard moment.at < end else {
                    throw SwitchFault("no quiet moment within 10 min: \(moment.reason)")
                }
                return moment
            }
        }
        try perform(step, index)
        return nil
    }

    private mutating func perform(
        _ step: SwitchState.Step, _ index: Int
    ) throws(SwitchFault) {
        if let timer = timer(index) {
            if step == .switchOn {
                try timer.startUnit()
            } else {
                try timer.stop()
                try timer.keepOff()
            }
        } else if let table = SwitchTable(items[index].source) {
            let old = try table.read().bytes
            let marked = MarkedTable(old)
            if step == .switchOn {
                try table.replace(old, by: marked.switchedOn)
            } else {
                try table.replace(old, by: marked.switchedOff(try lines(index, in: marked)))
            }
        }
        items[index].changes += 1
        guard try state(of: index).isSourceOn == (step == .switchOn) else {
            throw SwitchFault("the change has no effect; has another program changed it again?")
        }
    }

    /// Whether its guard must say that it is on; it does not if only some lines of a crontab are on.
    private func isCompletelyOn(_ index: Int) throws(SwitchFault) -> Bool {
        guard let table = SwitchTable(items[index].source) else { return true }
        return MarkedTable(try table.read().bytes).isSwitched == false
    }

    /// The lines to switch off. Each job has its line in the crontab; otherwise a user has edited it.
    private func lines(_ index: Int, in table: MarkedTable) throws(SwitchFault) -> Set<String> {
        let lines = file(of: index)?.file.tableLines ?? []
        guard table.isSwitched || table.on(of: lines) == lines else {
            throw SwitchFault("its lines were changed meanwhile; run the command again")
        }
        return lines
    }

    /// Checks that each user as whom jobs run can find out that the source is on. A guard that cannot would skip
    /// runs that nothing else makes.
    private mutating func tryGuards(_ index: Int, _ file: SwitchFile) throws(SwitchFault) {
        guard !items[index].isTried else { return }
        let command = SwitchGuard.command(of: file.source)
        for user in geteuid() == 0 && !file.users.isEmpty ? file.users : [Account.own] {
            var prefix: [String] = []
            if geteuid() == 0 {
                guard let entry = UserDatabase.user(named: user).entry else {
                    throw SwitchFault("there is no user \(user)")
                }
                prefix = [
                    "setpriv", "--reuid=\(entry.uid)", "--regid=\(entry.gid)", "--init-groups",
                    "--",
                ]
            }
            let tool = try Tool.run(prefix + command)
            guard tool.code == SwitchGuard.stillOn else {
                throw SwitchFault(
                    "user \(user) of a job cannot find out whether the source is on: \(tool.complaint)"
                )
            }
        }
        items[index].isTried = true
    }
}
