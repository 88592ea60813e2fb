// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

import CWebPage
import NIOCore
import NIOHTTP1
import TimerCore

/// The files of the status page. They are part of the program, contain no data, and are served without a login.
struct WebPage: Sendable {
    /// One file, as it is served.
    struct File: Sendable {
        let contentType: String
        let bytes: ByteBuffer
        /// By which a browser asks whether the file has changed (ETag).
        let tag: String

        init(_ contentType: String, _ read: (UnsafeMutablePointer<Int>) -> UnsafePointer<UInt8>?) {
            self.contentType = contentType
            var count = 0
            let start = read(&count)
            bytes = ByteBuffer(bytes: UnsafeBufferPointer(start: start, count: count))
            // It tells versions apart.
            tag = "\"\(String(FNV1a.hash(bytes.readableBytesView), radix: 16))\""
        }

        /// - Parameter known: the headers `If-None-Match`: a browser that has this version gets no body.
        func answer(known: [String]) -> ControlAnswer {
            let tags = known.flatMap { $0.split(separator: ",") }.map { tag in
                tag.drop { $0 == " " }.trimmingPrefix("W/")
            }
            let isKnown = tags.contains { $0 == tag[...] }
            var answer = ControlAnswer(isKnown ? .notModified : .ok, text: [])
            if !isKnown { answer.line = bytes }
            answer.contentType = contentType
            answer.headers = [("Cache-Control", "no-cache"), ("ETag", tag)]
            return answer
        }
    }

    private let files: [String: File] = [
        "/": File("text/html; charset=utf-8", cwebpage_index),
        "/app.css": File("text/css; charset=utf-8", cwebpage_style),
        "/app.js": File("text/javascript; charset=utf-8", cwebpage_script),
    ]

    /// The file at a path; nil if there is none.
    func file(at path: Substring) -> File? { files[String(path)] }
}
