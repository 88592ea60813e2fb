// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerControl
import TimerCore

/// A text in a format that Prometheus reads: the text format 0.0.4, or OpenMetrics 1.0.
struct MetricsText {
    /// The type of a family of metrics, as `# TYPE` names it.
    enum Kind {
        case gauge, counter, histogram
        /// Labels that say what something is, with the value 1.
        case info

        /// What the names of its samples end in. A histogram has several such endings.
        fileprivate var suffix: String {
            switch self {
            case .gauge, .histogram: ""
            case .counter: "_total"
            case .info: "_info"
            }
        }
    }

    private let format: MetricsFormat
    private(set) var bytes: [UInt8] = []
    /// The name of the samples of the family that is being written.
    private var sample: [UInt8] = []
    private var name: [UInt8] = []

    init(_ format: MetricsFormat) { self.format = format }

    /// Begins a family. Its samples follow, before the next family begins.
    ///
    /// - Parameters:
    ///   - name: without the ending of its samples, `_total` or `_info`.
    ///   - help: what it means, in one sentence.
    mutating func begin(_ name: String, _ kind: Kind, _ help: String) {
        self.name = Array("timerd_\(name)".utf8)
        sample = self.name + kind.suffix.utf8
        // OpenMetrics names the family here, and the text format the samples.
        let declared = format == .openMetrics ? self.name : sample
        bytes += "# HELP ".utf8
        bytes += declared
        bytes.append(UInt8(ascii: " "))
        escape(help, quotes: format == .openMetrics)
        bytes += "\n# TYPE ".utf8
        bytes += declared
        bytes.append(UInt8(ascii: " "))
        bytes += word(for: kind).utf8
        bytes.append(UInt8(ascii: "\n"))
    }

    private func word(for kind: Kind) -> String {
        switch kind {
        case .gauge: "gauge"
        case .counter: "counter"
        case .histogram: "histogram"
        case .info: format == .openMetrics ? "info" : "gauge"
        }
    }

    /// The end of the text: nothing may follow it.
    mutating func finish() {
        if format == .openMetrics { bytes += "# EOF\n".utf8 }
    }

    mutating func write(_ labels: Labels, _ value: Number) {
        bytes += sample
        write(labels.bytes[...], nil)
        write(value)
    }

    /// The same, with labels that are the same for many samples in front of its own.
    mutating func write(_ common: Labels, _ labels: Labels, _ value: Number) {
        bytes += sample
        write(common.bytes[...], labels.bytes[...])
        write(value)
    }

    /// Writes the buckets of a histogram, each with the sum of those below it, and their count and
    /// sum.
    mutating func write(_ labels: Labels, _ histogram: Histogram) {
        var total: UInt64 = 0
        for (index, count) in histogram.counts.enumerated() {
            total += count
            let isLast = index == histogram.bounds.count
            bytes += name
            bytes += "_bucket".utf8
            let bound = isLast ? "+Inf" : Self.bound(histogram.bounds[index])
            write(labels.bytes[...], Labels("le", bound).bytes[...])
            write(Number(total))
        }
        bytes += name
        bytes += "_sum".utf8
        write(labels.bytes[...], nil)
        write(Number(histogram.sum))
        bytes += name
        bytes += "_count".utf8
        write(labels.bytes[...], nil)
        write(Number(total))
    }

    /// `0.1` or `1.0`: a bound is written as a floating-point number in both formats, so that it is one label value.
    private static func bound(_ span: Duration) -> String {
        var text = MetricsText(.text)
        text.write(Number(span))
        let number = String(decoding: text.bytes.dropFirst().dropLast(), as: UTF8.self)
        return number.contains(".") ? number : number + ".0"
    }

    private mutating func write(_ common: ArraySlice<UInt8>, _ more: ArraySlice<UInt8>?) {
        let more = more ?? []
        guard !common.isEmpty || !more.isEmpty else { return }
        bytes.append(UInt8(ascii: "{"))
        bytes += common
        if !common.isEmpty, !more.isEmpty { bytes.append(UInt8(ascii: ",")) }
        bytes += more
        bytes.append(UInt8(ascii: "}"))
    }

    // MARK: - Labels

    /// The labels of a sample, as they are written between the braces.
    struct Labels {
        fileprivate private(set) var bytes: [UInt8] = []

        static let none = Labels()

        private init() {}

        init(_ name: String, _ value: String) { add(name, value) }

        init(_ labels: [(name: String, value: String)]) {
            for label in labels { add(label.name, label.value) }
        }

        private mutating func add(_ name: String, _ value: String) {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
            bytes += name.utf8
            bytes += "=\"".utf8
            MetricsText.escape(value, quotes: true, into: &bytes)
            bytes.append(UInt8(ascii: "\""))
        }
    }

    private mutating func escape(_ text: String, quotes: Bool) {
        Self.escape(text, quotes: quotes, into: &bytes)
    }

    private static func escape(_ text: String, quotes: Bool, into bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes += "\\\\".utf8
            case UInt8(ascii: "\n"): bytes += "\\n".utf8
            case UInt8(ascii: "\"") where quotes: bytes += "\\\"".utf8
            default: bytes.append(byte)
            }
        }
    }

    // MARK: - Numbers

    /// The value of a sample, exactly: a whole number of units of 10^-`digits`.
    struct Number {
        fileprivate var units: Int64
        fileprivate var digits: Int

        init(_ number: some BinaryInteger) { (units, digits) = (Int64(clamping: number), 0) }

        init(_ flag: Bool) { (units, digits) = (flag ? 1 : 0, 0) }

        /// In seconds.
        init(_ span: Duration) { (units, digits) = (span.wholeNanoseconds, 9) }

        /// In seconds since 1970.
        init(_ instant: WallInstant) { (units, digits) = (instant.microsecondsSinceEpoch, 6) }
    }

    private mutating func write(_ number: Number) {
        bytes.append(UInt8(ascii: " "))
        if number.units < 0 { bytes.append(UInt8(ascii: "-")) }
        var digits: [UInt8] = []
        var rest = number.units.magnitude
        var left = number.digits
        repeat {
            let digit = UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
            // Zeros at the end of the fraction are left out.
            if left <= 0 || digit > 0 || !digits.isEmpty {
                digits.append(UInt8(ascii: "0") + digit)
            }
            left -= 1
            if left == 0, !digits.isEmpty { digits.append(UInt8(ascii: ".")) }
        } while rest > 0 || left >= 0
        bytes += digits.reversed()
        bytes.append(UInt8(ascii: "\n"))
    }
}
