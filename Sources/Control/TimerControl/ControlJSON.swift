// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import TimerJSON

/// The JSON of the API, in which the property `everyUsec` has the name `every_usec`.
public enum ControlJSON {
    /// Encodes a value as one line of JSON with sorted names, without a line end.
    ///
    /// - Throws: `EncodingError` for a number that JSON does not have, such as the square root of
    ///   -1.
    public static func encode(_ value: some Encodable) throws -> [UInt8] { try JSON.encode(value) }

    /// Decodes what `encode` writes. Unknown names are ignored.
    ///
    /// - Throws: `DecodingError` if it is not JSON in UTF-8, or not such a value.
    public static func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: [UInt8]
    ) throws -> Value { try JSON.decode(type, from: bytes) }
}
