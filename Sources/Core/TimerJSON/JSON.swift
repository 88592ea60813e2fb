// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// Encodes values as JSON (RFC 8259) and decodes them.
///
/// The property `everyUsec` has the name `every_usec`: each capital letter starts a new word.
/// Foundation's coders could do the same, but took four fifths of the time of a list of many jobs,
/// and 6 MiB of each program.
package enum JSON {
    /// Encodes a value as one line of JSON with sorted names, without a line end.
    ///
    /// - Throws: `EncodingError` for a number that JSON does not have, such as the square root of
    ///   -1.
    /// - Complexity: O(*n*) in the bytes written, if names are coded in their order; otherwise the
    ///   members of an object are sorted.
    package static func encode(_ value: some Encodable) throws -> [UInt8] {
        let output = JSONOutput()
        try output.write(value)
        return output.bytes
    }

    /// Decodes what `encode` writes, and any other JSON with the same names and values. Unknown
    /// names are ignored.
    ///
    /// - Throws: `DecodingError` if it is not JSON in UTF-8, or not such a value.
    /// - Complexity: O(*n*) in the bytes, times the number of names of an object.
    package static func decode<Value: Decodable>(
        _: Value.Type, from bytes: [UInt8]
    ) throws -> Value {
        let document: JSONDocument
        do throws(JSONDocument.Fault) {
            document = try JSONDocument(bytes)
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: error.description))
        }
        return try document.decode(Value.self)
    }
}
