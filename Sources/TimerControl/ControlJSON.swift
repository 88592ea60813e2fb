// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

/// How the API's values become JSON (RFC 8259) and come back.
///
/// A property `everyUsec` is `every_usec` there: each capital letter begins a word. Foundation's coders do
/// the same and took four fifths of the time of a list of many jobs, and 6 MiB of each program.
public enum ControlJSON {
    /// One line of JSON with sorted names, without a line's end.
    ///
    /// - Throws: `EncodingError` for a number that is none, such as the square root of -1.
    /// - Complexity: O(*n*) in the bytes written, where names are coded in their order; else the members of
    ///   an object are sorted.
    public static func encode(_ value: some Encodable) throws -> [UInt8] {
        let output = JSONOutput()
        try output.write(value)
        return output.bytes
    }

    /// Reads what `encode` writes, and any other JSON of the same names and values. Names that are not known
    /// are passed over.
    ///
    /// - Throws: `DecodingError` for what is no JSON in UTF-8 or no such value.
    /// - Complexity: O(*n*) in the bytes, times the number of names an object has.
    public static func decode<Value: Decodable>(_: Value.Type, from bytes: [UInt8]) throws -> Value
    {
        let document: JSONDocument
        do throws(JSONDocument.Fault) {
            document = try JSONDocument(bytes)
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: error.description))
        }
        return try JSONDecoding(document: document, node: 0).value(Value.self)
    }
}
