// SPDX-License-Identifier: Apache-2.0
#include "core/serve/guests.h"

#include "core/base/clock.h"

#include <netinet/in.h>
#include <string.h>

static void address_bytes(const struct sockaddr *address, uint8_t out[16]) {
    memset(out, 0, 16);
    if (address && address->sa_family == AF_INET6)
        memcpy(out, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    else if (address && address->sa_family == AF_INET) {
        out[10] = out[11] = 0xff;
        memcpy(out + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    }
}

static size_t staying(const struct guests *guests) {
    size_t count = 0;
    for (size_t i = 0; i < guests->count; i++)
        count += !guests->list[i].leaving;
    return count;
}

static size_t of_same_address(const struct guests *guests, const struct guest *guest) {
    size_t count = 0;
    for (size_t i = 0; i < guests->count; i++)
        count += !guests->list[i].leaving && memcmp(guests->list[i].address, guest->address, 16) == 0;
    return count;
}

static int send_away(struct guest *guest) {
    guest->leaving = true;
    return guest->fd;
}

// The oldest one of the address that has most.
static int make_room(struct guests *guests) {
    struct guest *chosen = NULL;
    size_t most = 0;
    for (size_t i = 0; i < guests->count; i++) {
        struct guest *guest = &guests->list[i];
        size_t count = guest->leaving ? 0 : of_same_address(guests, guest);
        if (count > most || (count > 0 && count == most && guest->since_ns < chosen->since_ns)) {
            chosen = guest;
            most = count;
        }
    }
    return chosen ? send_away(chosen) : -1;
}

int guests_come(struct guests *guests, int fd, const struct sockaddr *address, int64_t now_ns) {
    if (guests->count == GUESTS_MAX * 2)
        return fd; // too many are still being closed
    int away = staying(guests) >= GUESTS_MAX ? make_room(guests) : -1;
    struct guest *guest = &guests->list[guests->count++];
    *guest = (struct guest){.fd = fd, .since_ns = now_ns};
    address_bytes(address, guest->address);
    return away;
}

static struct guest *find(struct guests *guests, int fd) {
    for (size_t i = 0; i < guests->count; i++)
        if (guests->list[i].fd == fd)
            return &guests->list[i];
    return NULL;
}

void guests_served(struct guests *guests, int fd, int64_t now_ns) {
    struct guest *guest = find(guests, fd);
    if (guest)
        guest->since_ns = now_ns;
}

void guests_gone(struct guests *guests, int fd) {
    struct guest *guest = find(guests, fd);
    if (guest)
        *guest = guests->list[--guests->count];
}

int guests_late(struct guests *guests, int64_t now_ns) {
    for (size_t i = 0; i < guests->count; i++) {
        struct guest *guest = &guests->list[i];
        if (!guest->leaving && now_ns - guest->since_ns > GUEST_S * CLOCK_SECOND)
            return send_away(guest);
    }
    return -1;
}
