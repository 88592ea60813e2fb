// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerCore

/// Translates a service to the keys of a job, other than its schedule.
struct ServiceTranslation {
    var unit: LoadedUnit
    let specifiers: UnitSpecifiers
    /// What the machine mounts.
    let mounts: [ImportedMount]
    /// What must be true before a run starts.
    var condition = ImportedCondition()
    var keys: [TomlEntry] = []
    /// Deviations that belong to no line, each a sentence without a full stop.
    var notes: [String] = []
    /// The units that systemd starts when the service ends, with the lines that name them.
    private(set) var handlers: [(name: String, event: UnitHandlers.Event, index: Int)] = []
    /// Why the service cannot become a job, at the place of the line; nil if it can.
    private(set) var refusal: (place: SourcePlace, reason: String)?

    init(_ unit: LoadedUnit, specifiers: UnitSpecifiers, mounts: [ImportedMount]) {
        (self.unit, self.specifiers, self.mounts) = (unit, specifiers, mounts)
    }

    /// Whether the run has more than one command.
    var hasSeveralCommands = false

    /// The type of the service, which is decided by other keys if Type= is not written.
    private(set) var type = "simple"

    /// - Complexity: O(*n*) in the size of the unit.
    mutating func translate() {
        description()
        readType()
        translateCommands()
        translateConditions()
        translateInput()
        translateIdentity()
        translateDirectory()
        translateEnvironment()
        translateEnding()
        translateProcess()
        translateLimits()
        translateConfinement()
        translateOutput()
        readHandlers()
        unit.markRest()
    }

    private mutating func readHandlers() {
        for event in UnitHandlers.Event.allCases {
            for index in unit.list("Unit", event.key) {
                handlers += words(index).map { ($0, event, index) }
            }
        }
    }

    /// The lines with the commands, as they are written.
    var commandText: [String] { unit.text(of: "Service") { $0.hasPrefix("Exec") } }

    mutating func set(_ key: String, _ value: TomlValue) { keys.append(TomlEntry(key, value)) }

    /// Refuses the service, unless another reason was found first.
    mutating func refuse(_ index: Int?, _ reason: String) {
        if let index { unit.mark(index, .lost(reason)) }
        guard refusal == nil else { return }
        let place = index.map { unit[$0].place } ?? SourcePlace(unit.files.first?.path ?? "")
        refusal = (place, reason)
    }

    /// The value of an assignment with its specifiers replaced, which marks it; nil if systemd ignores it.
    mutating func expanded(_ index: Int) -> String? {
        expanded(specifiers.expand(unit[index].value), index)
    }

    mutating func expanded(_ expansion: UnitSpecifiers.Expansion, _ index: Int) -> String? {
        if let fault = expansion.fault {
            unit.mark(index, .lost("\(fault), and systemd ignores the line"))
            return nil
        }
        let notes = expansion.notes
        unit.mark(index, notes.isEmpty ? .mapped : .lost(notes.joined(separator: "; ")))
        return expansion.text
    }

    /// The words of an assignment with their specifiers replaced, up to the first error.
    mutating func words(_ index: Int) -> [String] {
        var reader = UnitWords(unit[index].value, isStrict: true)
        var (words, notes): ([String], [String]) = ([], [])
        do throws(UnitWords.Failure) {
            while let word = try reader.next() {
                let expansion = specifiers.expand(word)
                notes += expansion.notes
                if let fault = expansion.fault {
                    notes.append("\(fault), and systemd ignores this part")
                } else {
                    words.append(expansion.text)
                }
            }
        } catch {
            notes.append("\(error.message), and systemd ignores the rest of the line")
        }
        unit.mark(index, notes.isEmpty ? .mapped : .lost(notes.joined(separator: "; ")))
        return words
    }

    /// A whole number in a range; nil if there is none, or it cannot be used.
    mutating func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let index = unit.last("Service", key) else { return nil }
        guard let number = Int(unit[index].value), range.contains(number) else {
            unit.mark(
                index,
                .lost("not a number from \(range.lowerBound) to \(range.upperBound)"))
            return nil
        }
        unit.mark(index, .mapped)
        return number
    }

    /// A time span of the last of these keys. `.some(nil)`: it never ends.
    mutating func span(_ keys: [String], zeroIsInfinity: Bool = false) -> Duration?? {
        var last: Int?
        for key in keys {
            if let index = unit.last("Service", key) { last = max(last ?? index, index) }
        }
        guard let index = last else { return nil }
        do throws(TimeSpanError) {
            let span = try UnitValue.span(unit[index].value)
            unit.mark(index, .mapped)
            if let span, span > .seconds(100 * 31_557_600) {
                return .some(nil)
            }
            return .some(zeroIsInfinity && span == .zero ? nil : span)
        } catch {
            unit.mark(index, .lost("not a time span: \(error)"))
            return nil
        }
    }

    private mutating func description() {
        guard let index = unit.last("Unit", "Description") else { return }
        if let text = expanded(index) { set("description", .string(text)) }
    }

    private mutating func readType() {
        guard let index = unit.last("Service", "Type") else {
            if unit.has("Service", "BusName") { type = "dbus" }
            if !unit.has("Service", "ExecStart") { type = "oneshot" }
            return
        }
        type = unit[index].value
        switch type {
        case "oneshot", "simple", "exec", "idle":
            unit.mark(index, .unneeded("a run lasts until its process ends"))
        case "notify", "notify-reload", "dbus":
            unit.mark(
                index,
                .lost("a run does not report that it is ready; it lasts until its process ends"))
        case "forking":
            unit.mark(
                index,
                .lost(
                    "the run ends when the first process ends; what that process started continues, unwatched"
                ))
        default:
            unit.mark(index, .lost("systemd does not know this type and ignores it"))
            type = "simple"
        }
    }
}
