// Copyright 2026 the timerd authors
// SPDX-License-Identifier: Apache-2.0

#include "CWebPage.h"

// Clang knows it in each version of C, and warns.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char page[] = {
#embed "index.html"
};
static const unsigned char style[] = {
#embed "app.css"
};
static const unsigned char script[] = {
#embed "app.js"
};
static const unsigned char icon[] = {
#embed "icon.svg"
};

const unsigned char *cwebpage_index(size_t *size) {
    *size = sizeof page;
    return page;
}

const unsigned char *cwebpage_style(size_t *size) {
    *size = sizeof style;
    return style;
}

const unsigned char *cwebpage_script(size_t *size) {
    *size = sizeof script;
    return script;
}

const unsigned char *cwebpage_icon(size_t *size) {
    *size = sizeof icon;
    return icon;
}
