// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// A value of the fleet's store as JSON. Only what the values need exists: whole numbers, no null.
public enum FleetJSON: Hashable, Sendable {
    case object([String: FleetJSON])
    case array([FleetJSON])
    case text(String)
    case number(Int64)
    case flag(Bool)

    /// How deep arrays and objects may be nested.
    static let depthMax = 8
    /// The longest text that is read, in bytes. The store accepts at most 1.5 MiB in a request.
    public static let bytesMax = 1 << 20

    /// The text, without spaces, with the members of each object in the order of their names: equal
    /// values have equal texts.
    public var text: String {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func write(to bytes: inout [UInt8]) {
        switch self {
        case .flag(let flag): bytes += (flag ? "true" : "false").utf8
        case .number(let number): bytes += String(number).utf8
        case .text(let text): Self.write(text, to: &bytes)
        case .array(let values):
            bytes.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, (name, value)) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.write(name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                bytes += ("\\u00" + (digits.utf8.count == 1 ? "0" : "") + digits).utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Parses the text of a value.
    ///
    /// - Throws: `FleetFault` if it is no JSON, or contains something that no value has: a fraction,
    ///   null, a member twice, or values nested too deep.
    /// - Complexity: O(*n*) in the bytes.
    public init(parsing text: String) throws(FleetFault) {
        guard text.utf8.count <= Self.bytesMax else {
            throw FleetFault("the value has more than \(Self.bytesMax) bytes")
        }
        try self.init(parsing: Array(text.utf8), depthMax: Self.depthMax)
    }

    /// Parses what the store sends, whose values are in other ones.
    ///
    /// - Parameter depthMax: how deep arrays and objects may be nested.
    /// - Throws: `FleetFault`, like the other.
    /// - Complexity: O(*n*) in the bytes.
    public init(parsing bytes: [UInt8], depthMax: Int) throws(FleetFault) {
        var parser = FleetJSONParser(bytes: bytes, depthMax: depthMax)
        self = try parser.parse()
    }
}

/// Why a key or a value of the fleet's store cannot be used.
public struct FleetFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The key, if it is known.
    public var key: String?
    /// What is wrong with it.
    public var message: String

    init(_ message: String) { self.message = message }

    public var description: String {
        (key.map { "\($0): " } ?? "") + message
            + "; all machines of a fleet must run the same version of timerd, "
            + "and nothing else may write to its keys"
    }

    /// The same fault with the key at which it is.
    func at(_ key: FleetKey, of fleet: String) -> Self {
        var fault = self
        fault.key = key.path(in: fleet)
        return fault
    }
}
