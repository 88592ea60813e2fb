// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerJSON

/// The body of a request, a JSON object. Every key in it must be known and given once, so that a
/// misspelt key cannot change the meaning of the request.
protocol RequestBody: Decodable {
    /// A valid body, for the error about an invalid one.
    static var example: String { get }
}

extension RequestBody {
    /// Parses a body, which may have only these keys.
    static func read(_ keys: [String], from body: [UInt8]) throws(ControlRequest.Fault) -> Self {
        let document: JSONDocument
        do throws(JSONDocument.Fault) { document = try JSONDocument(body) } catch {
            throw .badBody("the body is not JSON such as \(example): \(error)")
        }
        guard let names = document.memberNames else {
            throw .badBody("the body must be a JSON object such as \(example)")
        }
        var seen: Set<String> = []
        for name in names {
            guard keys.contains(name) else { throw .unknownKey(name, known: keys) }
            guard seen.insert(name).inserted else { throw .badBody("\(name) is given twice") }
        }
        if let name = document.nullMember {
            throw .badBody("\(name) is null; leave it out instead")
        }
        do {
            return try document.decode(Self.self)
        } catch let error as DecodingError {
            throw .badBody("the body must be JSON such as \(example): \(error.place)")
        } catch {
            throw .badBody("the body must be JSON such as \(example)")
        }
    }
}

extension DecodingError {
    /// The place of the value that cannot be used, and why.
    fileprivate var place: String {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context),
            .keyNotFound(_, let context), .dataCorrupted(let context):
            context.debugDescription
        @unknown default: "a value cannot be used"
        }
    }
}

extension KillBody: RequestBody {
    static let example = #"{"signal": "HUP"}"#

    static func read(_ body: [UInt8]) throws(ControlRequest.Fault) -> KillBody {
        guard !body.isEmpty else { return KillBody() }
        let read = try read(["signal"], from: body)
        guard let signal = read.signal, number(of: signal) == nil else { return read }
        let names = signals.map(\.name).joined(separator: ", ")
        throw .badBody("unknown signal \"\(signal.prefix(100))\"; one of \(names)")
    }
}

extension BodyForm where Value == KillBody {
    static let kill = BodyForm("KillBody", read: KillBody.read) {
        $0 == KillBody() ? [] : try ControlJSON.encode($0)
    }
}
